// Two clients of one server. Over HTTP only: each client on stdio has a server of its own.

import assert from 'node:assert/strict';

import { LISTS, listening, UPDATED } from './listening.mjs';
import { accepting, clientWith, textOf } from './people.mjs';

export async function what_one_changes_the_other_hears(connect) {
  const { told, heard, client } = await listening(connect);
  await client.listen({ toolsListChanged: true, resourceSubscriptions: ['test://log'] });
  const other = await connect(clientWith());
  await other.callTool({ name: LISTS.prompts.tool });
  await other.callTool({ name: LISTS.tools.tool });
  await other.callTool({ name: 'touch', arguments: { uri: 'test://log' } });
  await heard(LISTS.tools.method);
  await heard(UPDATED, 'test://log');
  assert.equal(told.length, 2);
}

export async function who_goes_away_leaves_the_others_subscriptions(connect) {
  const gone = await listening(connect);
  const { client, heard } = await listening(connect);
  await gone.client.listen({ toolsListChanged: true });
  await client.listen({ toolsListChanged: true });
  await gone.client.close();
  await client.callTool({ name: LISTS.tools.tool });
  await heard(LISTS.tools.method);
}

export async function a_conversation_goes_on_from_another_client(connect) {
  const manual = { inputRequired: { autoFulfill: false } };
  const people = { elicitation: () => assert.fail('nobody is asked') };
  const name = 'test_input_required_result_elicitation';
  const first = await connect(clientWith(people, manual));
  const { requestState } = await first.callTool({ name }, { allowInputRequired: true });
  await first.close();
  const second = await connect(clientWith(people, manual));
  const inputResponses = { user_name: accepting({ name: 'Ada' })() };
  const result = await second.callTool({ name, inputResponses, requestState });
  assert.equal(textOf(result), 'Hello, Ada!');
}
