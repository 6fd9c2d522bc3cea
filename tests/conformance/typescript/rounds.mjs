// Tools that ask: each kind of question, several at once, one after the other, by hand.

import assert from 'node:assert/strict';

import { accepting, clientWith, living, saying, textOf } from './people.mjs';

const PREFIX = 'test_input_required_result_';

async function call(connect, name, people, params = {}) {
  const client = await connect(clientWith(people));
  const result = await client.callTool({ name: PREFIX + name, ...params });
  return { told: textOf(result), asked: client.asked, isError: result.isError };
}

export async function a_form_is_accepted(connect) {
  const { told, asked } = await call(connect, 'elicitation', {
    elicitation: accepting({ name: 'Ada' }),
  });
  assert.equal(told, 'Hello, Ada!');
  assert.deepEqual(asked, ['What is your name?']);
}

export async function a_form_is_declined(connect) {
  const people = { elicitation: () => ({ action: 'decline' }) };
  const { told, isError } = await call(connect, 'elicitation', people);
  assert.equal(isError, true);
  assert.match(told, /declined/);
}

export async function a_form_is_cancelled(connect) {
  const people = { elicitation: () => ({ action: 'cancel' }) };
  const { told, isError } = await call(connect, 'elicitation', people);
  assert.equal(isError, true);
  assert.match(told, /without answering/);
}

export async function a_model_answers(connect) {
  const { told } = await call(connect, 'sampling', { sampling: saying('Paris') });
  assert.equal(told, 'Paris');
}

export async function roots_are_listed(connect) {
  const { told } = await call(connect, 'list_roots', { roots: living('file:///a', 'file:///b') });
  assert.equal(told, 'file:///a\nfile:///b');
}

export async function a_state_is_echoed(connect) {
  const people = { elicitation: accepting({ ok: true }) };
  assert.match((await call(connect, 'request_state', people)).told, /state-ok, confirmed/);
}

export async function all_are_asked_in_one_round(connect) {
  const { told, asked } = await call(connect, 'multiple_inputs', {
    elicitation: accepting({ name: 'Ada' }),
    sampling: saying('Good day,'),
    roots: living('file:///a'),
  });
  assert.equal(told, 'Good day, Ada, of 1 roots');
  assert.equal(asked.length, 3);
}

export async function one_round_follows_another(connect) {
  const { told, asked } = await call(connect, 'multi_round', {
    elicitation: ({ message }) =>
      accepting(message.startsWith('Step 1') ? { name: 'Ada' } : { color: 'blue' })(),
  });
  assert.equal(told, 'Ada likes blue.');
  assert.equal(asked.length, 2);
}

export async function who_has_no_forms_is_asked_by_a_model(connect) {
  const { told, asked } = await call(connect, 'capabilities', { sampling: saying('from a model') });
  assert.equal(told, 'from a model');
  assert.deepEqual(asked, ['sampling/createMessage']);
}

export async function a_missing_capability_is_an_error(connect) {
  const client = await connect(clientWith());
  await assert.rejects(client.callTool({ name: 'test_missing_capability' }), { code: -32021 });
}

export async function rounds_are_walked_by_hand(connect) {
  const client = await connect(
    clientWith({ elicitation: () => assert.fail('nobody is asked') }, {
      inputRequired: { autoFulfill: false },
    }),
  );
  const name = PREFIX + 'elicitation';
  const interim = await client.callTool({ name }, { allowInputRequired: true });
  assert.equal(interim.resultType, 'input_required');
  assert.deepEqual(Object.keys(interim.inputRequests), ['user_name']);
  const inputResponses = { user_name: { action: 'accept', content: { name: 'Ada' } } };
  const result = await client.callTool({ name, inputResponses, requestState: interim.requestState });
  assert.equal(textOf(result), 'Hello, Ada!');
}

export async function a_forged_state_is_refused(connect) {
  const client = await connect(clientWith({ elicitation: accepting({ ok: true }) }));
  const inputResponses = { confirm: { action: 'accept', content: { ok: true } } };
  const forged = { name: PREFIX + 'request_state', inputResponses, requestState: 'forged' };
  await assert.rejects(client.callTool(forged), { code: -32602 });
}

export async function fifty_conversations_of_one_client_do_not_mix(connect) {
  let people = 0;
  const elicitation = ({ message }) =>
    accepting(message.startsWith('Step 1') ? { name: `n${people++}` } : { color: 'blue' })();
  const client = await connect(clientWith({ elicitation }));
  const name = PREFIX + 'multi_round';
  const calls = Array.from({ length: 50 }, () => client.callTool({ name }));
  const told = new Set((await Promise.all(calls)).map(textOf));
  assert.deepEqual(told, new Set(calls.map((_, index) => `n${index} likes blue.`)));
}
