// A tool with Ask parameters: two that are independent, and one that takes their answers.

import assert from 'node:assert/strict';

import { accepting, clientWith, textOf } from './people.mjs';

const GUEST = 'Who comes?';
const NIGHTS = 'How many nights?';
const SURE = '3 nights in Oslo for Ada?';
const ANSWERS = {
  [GUEST]: accepting({ name: 'Ada' }),
  [NIGHTS]: accepting({ nights: 3 }),
  [SURE]: accepting({ sure: true }),
};
const decline = () => ({ action: 'decline' });

async function book(connect, answers = {}) {
  const answering = { ...ANSWERS, ...answers };
  const elicitation = ({ message }) => answering[message]();
  const client = await connect(clientWith({ elicitation }));
  await client.listTools(); // with the output schema, against which the client checks the result
  const result = await client.callTool({ name: 'book', arguments: { city: 'Oslo' } });
  return { ...result, told: textOf(result), asked: client.asked };
}

export async function they_are_no_arguments(connect) {
  const { tools } = await (await connect(clientWith())).listTools();
  const { inputSchema } = tools.find(({ name }) => name === 'book');
  assert.deepEqual(Object.keys(inputSchema.properties), ['city']);
}

export async function they_are_filled_by_answers(connect) {
  const { structuredContent, asked } = await book(connect);
  assert.deepEqual(structuredContent, { city: 'Oslo', guest: 'Ada', nights: 3 });
  assert.deepEqual(asked.slice(0, 2).sort(), [NIGHTS, GUEST]);
  assert.deepEqual(asked.slice(2), [SURE]);
}

export async function independent_questions_go_out_in_one_round(connect) {
  const client = await connect(
    clientWith({ elicitation: () => assert.fail('nobody is asked') }, {
      inputRequired: { autoFulfill: false },
    }),
  );
  const params = { name: 'book', arguments: { city: 'Oslo' } };
  const step = (inputResponses, { requestState } = {}) =>
    client.callTool({ ...params, inputResponses, requestState }, { allowInputRequired: true });
  const first = await step();
  assert.deepEqual(Object.keys(first.inputRequests).sort(), ['guest', 'nights']);
  const second = await step({ guest: ANSWERS[GUEST](), nights: ANSWERS[NIGHTS]() }, first);
  assert.deepEqual(Object.keys(second.inputRequests), ['sure']);
  assert.equal(second.inputRequests.sure.params.message, SURE);
  const last = await step({ sure: ANSWERS[SURE]() }, second);
  assert.equal(last.structuredContent.guest, 'Ada');
}

export async function a_declined_one_ends_the_call(connect) {
  const { told, isError } = await book(connect, { [GUEST]: decline });
  assert.equal(isError, true);
  assert.match(told, /declined/);
}

export async function one_that_takes_the_whole_outcome_is_told_of_the_refusal(connect) {
  const { told, isError } = await book(connect, { [SURE]: decline });
  assert.equal(isError, true);
  assert.equal(told, 'Nothing was booked.');
}

export async function the_person_may_say_no(connect) {
  const { told } = await book(connect, { [SURE]: accepting({ sure: false }) });
  assert.equal(told, 'Nothing was booked.');
}
