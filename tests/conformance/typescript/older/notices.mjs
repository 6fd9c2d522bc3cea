// What is told while a request is open: progress, log messages; and requests that are cancelled.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import {
  EmptyResultSchema,
  LoggingMessageNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { clientWith } from './people.mjs';

const KINDS = {
  tool: (client, name, options) =>
    client.callTool({ name: 'slow', arguments: { name } }, undefined, options),
  prompt: (client, name, options) =>
    client.getPrompt({ name: 'slow', arguments: { name } }, options),
  template: (client, name, options) => client.readResource({ uri: `slow://${name}` }, options),
};

/** Let go on what waits until its progress was heard. */
const goOn = (client, name) => client.callTool({ name: 'go_on', arguments: { name } });

// -- progress, and its end -----------------------------------------------------------------------

/** The progress that a request tells until it is let go on, and ends. */
async function stepsOf(client, ask) {
  const name = randomUUID();
  const steps = [];
  const told = Promise.withResolvers();
  const onprogress = ({ progress, total }) => {
    if (steps.push([progress, total]) === 2) told.resolve();
  };
  const asked = ask(client, name, { onprogress });
  await Promise.race([told.promise, asked]);
  await goOn(client, name);
  assert.match(JSON.stringify(await asked), /went on/);
  return steps;
}

export async function requests_of_each_kind_tell_their_own_progress(connect) {
  const client = await connect(clientWith());
  const kinds = Array.from({ length: 10 }, () => Object.values(KINDS)).flat();
  const told = await Promise.all(kinds.map(ask => stepsOf(client, ask)));
  assert.deepEqual(told, kinds.map(() => [[1, 2], [2, 2]]));
}

export async function a_cancelled_request_leaves_the_others_alone(connect) {
  const client = await connect(clientWith());
  for (const ask of Object.values(KINDS)) {
    const leave = new AbortController();
    const staying = randomUUID();
    const onprogress = () => leave.abort('enough');
    const left = ask(client, randomUUID(), { signal: leave.signal, onprogress });
    const other = ask(client, staying);
    await assert.rejects(left, /enough/);
    await goOn(client, staying);
    assert.match(JSON.stringify(await other), /went on/);
  }
}

// -- log messages --------------------------------------------------------------------------------

async function listening(connect) {
  const client = await connect(clientWith());
  const told = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    told.push(params);
  });
  const toldBy = async name => {
    told.length = 0;
    await client.callTool({ name });
    return told.map(({ data }) => data);
  };
  return { client, told, toldBy };
}

const STEPS = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];

export async function a_tool_logs_at_the_level_or_above(connect) {
  const { client, told, toldBy } = await listening(connect);
  await client.setLoggingLevel('debug');
  assert.deepEqual(await toldBy('test_tool_with_logging'), STEPS);
  assert.deepEqual(told[0], { level: 'info', logger: 'conformance', data: STEPS[0] });
  await client.setLoggingLevel('info');
  assert.deepEqual(await toldBy('test_tool_with_logging'), STEPS);
  await client.setLoggingLevel('notice');
  assert.deepEqual(await toldBy('test_tool_with_logging'), []);
}

export async function a_prompt_logs_too(connect) {
  const { client, told } = await listening(connect);
  await client.setLoggingLevel('notice');
  await client.getPrompt({ name: 'logging_prompt' });
  assert.deepEqual(told, [{ level: 'notice', logger: 'conformance', data: { at: 'prompt' } }]);
}

export async function an_unknown_level_is_an_error(connect) {
  const { client, toldBy } = await listening(connect);
  await client.setLoggingLevel('info');
  const request = { method: 'logging/setLevel', params: { level: 'loud' } };
  await assert.rejects(client.request(request, EmptyResultSchema), { code: -32602 });
  assert.deepEqual(await toldBy('test_tool_with_logging'), STEPS);
}
