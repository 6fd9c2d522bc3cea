// Tools that ask while their call is open: each kind of question, several, none, and in vain.

import assert from 'node:assert/strict';

import {
  accepting,
  cancelling,
  clientWith,
  declining,
  living,
  saying,
  textOf,
} from './people.mjs';

const PREFIX = 'test_input_required_result_';

async function call(connect, params, people, declared) {
  const client = await connect(clientWith(people, declared));
  const result = await client.callTool(params);
  return { ...result, told: textOf(result), asked: client.asked };
}

const round = (connect, name, people, declared) =>
  call(connect, { name: PREFIX + name }, people, declared);

// -- one question --------------------------------------------------------------------------------

export async function a_form_is_accepted(connect) {
  const shown = [];
  const elicitation = params => {
    shown.push(params);
    return accepting({ name: 'Ada' })();
  };
  const { told } = await round(connect, 'elicitation', { elicitation });
  assert.equal(told, 'Hello, Ada!');
  const [{ mode, message, requestedSchema }] = shown;
  assert.deepEqual([mode, message], ['form', 'What is your name?']);
  assert.deepEqual(requestedSchema, {
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
  });
}

export async function a_form_is_declined(connect) {
  const { told, isError } = await round(connect, 'elicitation', { elicitation: declining });
  assert.equal(isError, true);
  assert.match(told, /declined/);
}

export async function a_form_is_cancelled(connect) {
  const { told, isError } = await round(connect, 'elicitation', { elicitation: cancelling });
  assert.equal(isError, true);
  assert.match(told, /without answering/);
}

export async function an_answer_that_does_not_fit_is_asked_again(connect) {
  const answers = [{}, { name: 'Ada' }];
  const elicitation = () => accepting(answers.shift())();
  const { told, asked } = await round(connect, 'elicitation', { elicitation });
  assert.equal(told, 'Hello, Ada!');
  assert.equal(asked.length, 2);
}

export async function defaults_are_filled_in_by_the_client(connect) {
  const name = 'test_elicitation_sep1034_defaults';
  const { told } = await call(connect, { name }, { elicitation: accepting({ age: 36 }) });
  for (const part of ['John Doe', '36', '95.5', 'active', 'True']) {
    assert.ok(told.includes(part), `${part} is not in ${told}`);
  }
}

export async function a_link_is_opened(connect) {
  const links = [];
  const elicitation = params => {
    links.push(params);
    return { action: 'accept' };
  };
  const { told, asked } = await call(connect, { name: 'sign_in' }, { elicitation });
  assert.equal(told, 'The link was opened.');
  assert.deepEqual(asked, ['Sign in, please']);
  const [{ mode, url, elicitationId }] = links;
  assert.deepEqual([mode, url], ['url', 'https://example.org/sign-in?of=1']);
  assert.match(elicitationId, /./);
}

export async function a_link_is_left_alone(connect) {
  for (const elicitation of [declining, cancelling]) {
    const { told, isError } = await call(connect, { name: 'sign_in' }, { elicitation });
    assert.equal(isError, true);
    assert.equal(told, 'The link was not opened.');
  }
}

export async function a_model_answers(connect) {
  const prompts = [];
  const sampling = ({ messages, maxTokens }) => {
    prompts.push([messages[0].content.text, maxTokens]);
    return saying('Paris')();
  };
  const params = { name: 'test_sampling', arguments: { prompt: 'The capital?' } };
  const { told } = await call(connect, params, { sampling });
  assert.equal(told, 'LLM response: Paris');
  assert.deepEqual(prompts, [['The capital?', 100]]);
}

export async function roots_are_listed(connect) {
  const roots = living('file:///a', 'file:///b');
  const { told } = await round(connect, 'list_roots', { roots });
  assert.equal(told, 'file:///a\nfile:///b');
}

// -- several -------------------------------------------------------------------------------------

export async function all_are_asked_in_one_call(connect) {
  const { told, asked } = await round(connect, 'multiple_inputs', {
    elicitation: accepting({ name: 'Ada' }),
    sampling: saying('Good day,'),
    roots: living('file:///a'),
  });
  assert.equal(told, 'Good day, Ada, of 1 roots');
  assert.equal(asked.length, 3);
}

export async function one_question_follows_another(connect) {
  const { told, asked } = await round(connect, 'multi_round', {
    elicitation: ({ message }) =>
      accepting(message.startsWith('Step 1') ? { name: 'Ada' } : { color: 'blue' })(),
  });
  assert.equal(told, 'Ada likes blue.');
  assert.equal(asked.length, 2);
}

const BOOKING = {
  'Who comes?': { name: 'Ada' },
  'How many nights?': { nights: 3 },
  '3 nights in Oslo for Ada?': { sure: true },
};

export async function parameters_are_filled_by_answers(connect) {
  const elicitation = ({ message }) => accepting(BOOKING[message])();
  const client = await connect(clientWith({ elicitation }));
  await client.listTools(); // with the output schema, against which the client checks the result
  const result = await client.callTool({ name: 'book', arguments: { city: 'Oslo' } });
  assert.deepEqual(result.structuredContent, { city: 'Oslo', guest: 'Ada', nights: 3 });
  assert.deepEqual(client.asked.toSorted(), Object.keys(BOOKING).toSorted());
  assert.equal(client.asked.at(-1), '3 nights in Oslo for Ada?');
}

export async function fifty_calls_of_one_client_do_not_mix(connect) {
  let people = 0;
  const elicitation = ({ message }) =>
    accepting(message.startsWith('Step 1') ? { name: `n${people++}` } : { color: 'blue' })();
  const client = await connect(clientWith({ elicitation }));
  const name = PREFIX + 'multi_round';
  const calls = Array.from({ length: 50 }, () => client.callTool({ name }));
  const told = new Set((await Promise.all(calls)).map(textOf));
  assert.deepEqual(told, new Set(calls.map((_, index) => `n${index} likes blue.`)));
}

// -- who cannot be asked -------------------------------------------------------------------------

export async function who_has_no_forms_is_asked_by_a_model(connect) {
  const people = { sampling: saying('from a model') };
  const { told, asked } = await round(connect, 'capabilities', people);
  assert.equal(told, 'from a model');
  assert.deepEqual(asked, ['sampling/createMessage']);
}

export async function who_cannot_be_asked_is_told_so(connect) {
  const { told, isError } = await call(connect, { name: 'test_missing_capability' });
  assert.equal(isError, true);
  assert.match(told, /sampling/);
}

export async function a_client_with_forms_only_is_shown_no_link(connect) {
  const elicitation = () => assert.fail('nobody is asked');
  const forms = { elicitation: { form: {} } };
  const { isError, asked } = await call(connect, { name: 'sign_in' }, { elicitation }, forms);
  assert.equal(isError, true);
  assert.deepEqual(asked, []);
}

export async function a_client_that_names_no_mode_has_forms(connect) {
  const people = { elicitation: accepting({ name: 'Ada' }) };
  const { told } = await round(connect, 'elicitation', people, { elicitation: {} });
  assert.equal(told, 'Hello, Ada!');
}

// -- in vain -------------------------------------------------------------------------------------

export async function a_cancelled_call_takes_its_question_back(connect) {
  const leave = new AbortController();
  const withdrawn = Promise.withResolvers();
  const elicitation = (_, { signal }) => {
    signal.addEventListener('abort', withdrawn.resolve);
    leave.abort('enough');
    return new Promise(() => {});
  };
  const client = await connect(clientWith({ elicitation }));
  const params = { name: PREFIX + 'elicitation' };
  await assert.rejects(client.callTool(params, undefined, { signal: leave.signal }), /enough/);
  await withdrawn.promise;
  assert.match(textOf(await client.callTool({ name: 'test_simple_text' })), /simple text/);
}

export async function an_error_in_place_of_an_answer_does_not_end_the_session(connect) {
  const elicitation = () => {
    throw new Error('the window is broken');
  };
  const client = await connect(clientWith({ elicitation }));
  const result = await client.callTool({ name: PREFIX + 'elicitation' });
  assert.equal(result.isError, true);
  assert.match(textOf(await client.callTool({ name: 'test_simple_text' })), /simple text/);
}
