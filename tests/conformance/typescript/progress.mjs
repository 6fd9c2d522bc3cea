// Progress and cancellation of each kind of request that may take its time.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { clientWith } from './people.mjs';

const KINDS = {
  tool: (client, name, options) => client.callTool({ name: 'slow', arguments: { name } }, options),
  prompt: (client, name, options) =>
    client.getPrompt({ name: 'slow', arguments: { name } }, options),
  template: (client, name, options) => client.readResource({ uri: `slow://${name}` }, options),
};

/** Let go on what waits until its progress was heard. */
const goOn = (client, name) => client.callTool({ name: 'go_on', arguments: { name } });

/** The progress that a request tells until it is let go on, and ends. */
async function stepsOf(client, ask) {
  const name = randomUUID();
  const steps = [];
  const result = await new Promise((resolve, reject) => {
    const onprogress = ({ progress, total }) => {
      if (steps.push([progress, total]) === 2) resolve(goOn(client, name).then(() => asked));
    };
    const asked = ask(client, name, { onprogress });
    asked.catch(reject);
  });
  assert.match(JSON.stringify(result), /went on/);
  return steps;
}

async function progressOf(connect, ask) {
  const steps = await stepsOf(await connect(clientWith()), ask);
  assert.deepEqual(steps, [[1, 2], [2, 2]]);
}

async function leaving(connect, ask) {
  const client = await connect(clientWith());
  const leave = new AbortController();
  const [gone, staying] = [randomUUID(), randomUUID()];
  const options = { signal: leave.signal, onprogress: () => leave.abort('enough') };
  const left = ask(client, gone, options);
  const other = ask(client, staying);
  await assert.rejects(left, /enough/);
  await goOn(client, staying);
  assert.match(JSON.stringify(await other), /went on/);
}

export const a_tool_tells_its_progress = connect => progressOf(connect, KINDS.tool);
export const a_prompt_tells_its_progress = connect => progressOf(connect, KINDS.prompt);
export const a_template_tells_its_progress = connect => progressOf(connect, KINDS.template);

export const a_cancelled_tool_leaves_the_others_alone = connect => leaving(connect, KINDS.tool);
export const a_cancelled_prompt_leaves_the_others_alone = connect => leaving(connect, KINDS.prompt);
export const a_cancelled_read_leaves_the_others_alone = connect => leaving(connect, KINDS.template);

export async function each_request_hears_of_its_own_progress(connect) {
  const client = await connect(clientWith());
  const kinds = Array.from({ length: 10 }, () => Object.values(KINDS)).flat();
  const told = await Promise.all(kinds.map(ask => stepsOf(client, ask)));
  assert.deepEqual(told, kinds.map(() => [[1, 2], [2, 2]]));
}
