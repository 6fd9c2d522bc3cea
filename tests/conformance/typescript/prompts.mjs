// Prompts: lists, arguments, content of each kind, errors, progress, and one that asks.

import assert from 'node:assert/strict';

import { accepting, clientWith } from './people.mjs';

const ASKING = 'test_input_required_result_prompt';

const blocksOf = ({ messages }) => messages.map(({ role, content }) => [role, content.type]);

async function get(connect, name, people = {}) {
  const client = await connect(clientWith(people));
  const { messages } = await client.getPrompt({ name });
  return { told: messages[0].content.text, asked: client.asked };
}

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
  assert.ok(prompts.some(({ name }) => name === ASKING));
}

export async function arguments_are_filled_in(connect) {
  const client = await connect(clientWith());
  const result = await client.getPrompt({
    name: 'test_prompt_with_arguments',
    arguments: { arg1: 'é "1"', arg2: '' },
  });
  assert.equal(result.description, 'Return both arguments.');
  assert.match(result.messages[0].content.text, /arg1='é "1"', arg2=''/);
}

export async function a_resource_is_embedded(connect) {
  const client = await connect(clientWith());
  const resourceUri = 'test://somewhere';
  const result = await client.getPrompt({
    name: 'test_prompt_with_embedded_resource',
    arguments: { resourceUri },
  });
  assert.deepEqual(blocksOf(result), [['user', 'resource'], ['user', 'text']]);
  assert.equal(result.messages[0].content.resource.uri, resourceUri);
}

export async function an_image_is_shown(connect) {
  const client = await connect(clientWith());
  const result = await client.getPrompt({ name: 'test_prompt_with_image' });
  assert.deepEqual(blocksOf(result), [['user', 'image'], ['user', 'text']]);
  assert.equal(result.messages[0].content.mimeType, 'image/png');
}

export async function both_roles_speak(connect) {
  const client = await connect(clientWith());
  const result = await client.getPrompt({ name: 'every_role' });
  assert.deepEqual(blocksOf(result), [
    ['user', 'text'],
    ['user', 'audio'],
    ['assistant', 'text'],
    ['assistant', 'resource_link'],
  ]);
}

export async function an_unknown_prompt_is_an_error(connect) {
  const client = await connect(clientWith());
  const name = 'nobody_knows_it';
  await assert.rejects(client.getPrompt({ name }), { code: -32602, message: /nobody_knows_it/ });
}

export async function a_missing_argument_is_an_error(connect) {
  const client = await connect(clientWith());
  const asked = { name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } };
  await assert.rejects(client.getPrompt(asked), { code: -32602, message: /arg2/ });
}

export async function arguments_are_completed(connect) {
  const client = await connect(clientWith());
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
    argument: { name: 'arg1', value: 'te' },
  });
  assert.deepEqual(completion, { values: ['test', 'testing'], hasMore: false });
}

export async function an_unknown_prompt_has_no_completion(connect) {
  const client = await connect(clientWith());
  const asked = {
    ref: { type: 'ref/prompt', name: 'nobody_knows_it' },
    argument: { name: 'arg1', value: '' },
  };
  await assert.rejects(client.complete(asked), { code: -32602 });
}

export async function a_prompt_asks_and_is_answered(connect) {
  const { told, asked } = await get(connect, ASKING, {
    elicitation: accepting({ context: 'a harbour' }),
  });
  assert.equal(told, 'Use this context: a harbour');
  assert.deepEqual(asked, ['What context should the prompt use?']);
}

export async function a_declined_prompt_is_an_error(connect) {
  const people = { elicitation: () => ({ action: 'decline' }) };
  await assert.rejects(get(connect, ASKING, people), { code: -32603, message: /declined/ });
}

export async function a_cancelled_prompt_is_an_error(connect) {
  const people = { elicitation: () => ({ action: 'cancel' }) };
  await assert.rejects(get(connect, ASKING, people), {
    code: -32603,
    message: /without answering/,
  });
}

export async function a_prompt_without_anybody_to_ask_is_an_error(connect) {
  await assert.rejects(get(connect, ASKING), {
    code: -32021,
    data: { requiredCapabilities: { elicitation: { form: {} } } },
  });
}
