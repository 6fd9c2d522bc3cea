// Sessions, and two clients of one server. Over HTTP only.

import assert from 'node:assert/strict';

import { listening, LISTS, UPDATED } from './listening.mjs';
import { accepting, clientWith, REVISION, textOf } from './people.mjs';

const ADDRESS = process.argv[3];

export async function each_client_has_a_session_of_its_own(connect) {
  const ids = [];
  for (let count = 0; count < 3; count += 1) {
    ids.push((await connect(clientWith())).transport.sessionId);
  }
  assert.equal(new Set(ids).size, 3);
  assert.ok(ids.every(id => /^[\x21-\x7e]{16,}$/.test(id)));
}

export async function what_one_changes_the_other_hears(connect) {
  const { client, told, heard } = await listening(connect);
  await client.subscribeResource({ uri: 'test://log' });
  const other = await connect(clientWith());
  await other.callTool({ name: LISTS.tools.tool });
  await other.callTool({ name: 'touch', arguments: { uri: 'test://log' } });
  await heard(LISTS.tools.method);
  await heard(UPDATED, 'test://log');
  assert.equal(told.length, 2);
}

export async function each_is_asked_what_is_its_own(connect) {
  const names = ['Ada', 'Bob', 'Cy'];
  const name = 'test_input_required_result_elicitation';
  const told = await Promise.all(
    names.map(async answer => {
      const client = await connect(clientWith({ elicitation: accepting({ name: answer }) }));
      return textOf(await client.callTool({ name }));
    }),
  );
  assert.deepEqual(told, names.map(each => `Hello, ${each}!`));
}

export async function a_session_that_is_ended_is_gone(connect) {
  const client = await connect(clientWith());
  const { sessionId } = client.transport;
  await client.transport.terminateSession();
  const response = await fetch(ADDRESS, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': REVISION,
      'mcp-session-id': sessionId,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  assert.equal(response.status, 404);
}
