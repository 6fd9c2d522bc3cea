// Prompts: lists, arguments, content, errors, completion, and one that asks.

import assert from 'node:assert/strict';

import { accepting, clientWith, declining } from './people.mjs';

const ASKING = { name: 'test_input_required_result_prompt' };

const blocksOf = ({ messages }) => messages.map(({ role, content }) => [role, content.type]);

export async function all_prompts_are_listed(connect) {
  const { prompts } = await (await connect(clientWith())).listPrompts();
  const { description, arguments: listed } = prompts.find(
    ({ name }) => name === 'test_prompt_with_arguments',
  );
  assert.equal(description, 'Return both arguments.');
  assert.deepEqual(listed, [
    { name: 'arg1', description: 'First test argument', required: true },
    { name: 'arg2', description: 'Second test argument', required: true },
  ]);
}

export async function arguments_are_filled_in(connect) {
  const client = await connect(clientWith());
  const { messages } = await client.getPrompt({
    name: 'test_prompt_with_arguments',
    arguments: { arg1: 'é "1"', arg2: '' },
  });
  assert.match(messages[0].content.text, /arg1='é "1"', arg2=''/);
}

export async function blocks_of_every_kind_are_shown(connect) {
  const client = await connect(clientWith());
  assert.deepEqual(blocksOf(await client.getPrompt({ name: 'test_prompt_with_image' })), [
    ['user', 'image'],
    ['user', 'text'],
  ]);
  assert.deepEqual(blocksOf(await client.getPrompt({ name: 'every_role' })), [
    ['user', 'text'],
    ['user', 'audio'],
    ['assistant', 'text'],
    ['assistant', 'resource_link'],
  ]);
}

export async function what_is_wrong_with_a_request_is_an_error(connect) {
  const client = await connect(clientWith());
  const unknown = { name: 'nobody_knows_it' };
  await assert.rejects(client.getPrompt(unknown), { code: -32602, message: /nobody_knows_it/ });
  const missing = { name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } };
  await assert.rejects(client.getPrompt(missing), { code: -32602, message: /arg2/ });
}

export async function arguments_are_completed(connect) {
  const client = await connect(clientWith());
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: 'te' },
  });
  assert.deepEqual(completion, { values: ['test', 'testing'], hasMore: false });
}

export async function a_prompt_asks_and_is_answered(connect) {
  const client = await connect(clientWith({ elicitation: accepting({ context: 'a harbour' }) }));
  const { messages } = await client.getPrompt(ASKING);
  assert.equal(messages[0].content.text, 'Use this context: a harbour');
  assert.deepEqual(client.asked, ['What context should the prompt use?']);
}

export async function a_declined_prompt_is_an_error(connect) {
  const client = await connect(clientWith({ elicitation: declining }));
  await assert.rejects(client.getPrompt(ASKING), { code: -32603, message: /declined/ });
}

export async function a_prompt_without_anybody_to_ask_is_an_error(connect) {
  const client = await connect(clientWith());
  await assert.rejects(client.getPrompt(ASKING), { message: /What context should the prompt use/ });
}
