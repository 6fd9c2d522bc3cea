// What changes: resources that are watched, and lists.

import assert from 'node:assert/strict';

import { listening, LISTS, UPDATED } from './listening.mjs';

const LOG = 'test://log';

export async function a_watched_resource_is_told_of(connect) {
  const { client, told, heard } = await listening(connect);
  await client.subscribeResource({ uri: LOG });
  for (const uri of ['test://static-text', 'test://log/', LOG]) {
    await client.callTool({ name: 'touch', arguments: { uri } });
  }
  await heard(UPDATED, LOG);
  assert.deepEqual(told, [{ method: UPDATED, uri: LOG }]);
}

export async function a_resource_that_is_left_is_not_told_of(connect) {
  const { client, told, heard } = await listening(connect);
  const other = 'test://static-text';
  await client.subscribeResource({ uri: LOG });
  await client.subscribeResource({ uri: other });
  await client.unsubscribeResource({ uri: LOG });
  for (const uri of [LOG, other]) {
    await client.callTool({ name: 'touch', arguments: { uri } });
  }
  await heard(UPDATED, other);
  assert.deepEqual(told, [{ method: UPDATED, uri: other }]);
}

export async function each_list_that_changes_is_told_of(connect) {
  const { client, told, heard } = await listening(connect);
  for (const { tool, method } of Object.values(LISTS)) {
    await client.callTool({ name: tool });
    await heard(method);
  }
  assert.equal(told.length, 3);
}

export async function what_comes_and_goes_is_listed_again(connect) {
  const { client, heard } = await listening(connect);
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
  const params = { arguments: { name: 'a_newer_tool' } };
  await client.callTool({ name: 'grow', ...params });
  await heard(LISTS.tools.method);
  assert.ok((await listed()).includes('a_newer_tool'));
  await client.callTool({ name: 'shrink', ...params });
  await heard(LISTS.tools.method, undefined, 2);
  assert.ok(!(await listed()).includes('a_newer_tool'));
}
