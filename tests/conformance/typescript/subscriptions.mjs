// Subscriptions: what changes, which of it is told, and how they end.

import assert from 'node:assert/strict';

import { LISTS, listening, UPDATED } from './listening.mjs';
import { clientWith } from './people.mjs';

const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['test://log', 'test://static-text'],
};

export async function the_filter_is_acknowledged(connect) {
  const { client } = await listening(connect);
  const subscription = await client.listen(EVERYTHING);
  assert.deepEqual(subscription.honoredFilter, EVERYTHING);
}

export async function each_change_is_told_once(connect) {
  const { client, told, heard } = await listening(connect);
  await client.listen(EVERYTHING);
  for (const { tool, method } of Object.values(LISTS)) {
    await client.callTool({ name: tool });
    await heard(method);
  }
  await client.callTool({ name: 'touch', arguments: { uri: 'test://log' } });
  await heard(UPDATED, 'test://log');
  assert.equal(told.length, 4);
}

export async function only_what_was_asked_for_is_told(connect) {
  const { client, told, heard } = await listening(connect);
  const subscription = await client.listen({ toolsListChanged: true });
  assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true });
  await client.callTool({ name: LISTS.prompts.tool });
  await client.callTool({ name: LISTS.resources.tool });
  await client.callTool({ name: 'touch', arguments: { uri: 'test://log' } });
  await client.callTool({ name: LISTS.tools.tool });
  await heard(LISTS.tools.method);
  assert.equal(told.length, 1);
}

export async function only_the_watched_resource_is_told(connect) {
  const { client, told, heard } = await listening(connect);
  await client.listen({ resourceSubscriptions: ['test://log'] });
  for (const uri of ['test://static-text', 'test://log/', 'test://log']) {
    await client.callTool({ name: 'touch', arguments: { uri } });
  }
  await heard(UPDATED, 'test://log');
  assert.deepEqual(told.map(({ uri }) => uri), ['test://log']);
}

export async function a_watched_resource_is_read_again(connect) {
  const { client, heard } = await listening(connect);
  const uri = 'test://log';
  await client.listen({ resourceSubscriptions: [uri] });
  const first = await client.readResource({ uri });
  assert.deepEqual(await client.readResource({ uri }), first);
  await client.callTool({ name: 'touch', arguments: { uri } });
  await heard(UPDATED, uri);
  assert.notDeepEqual(await client.readResource({ uri }), first);
}

export async function what_comes_and_goes_is_listed_again(connect) {
  const lists = [];
  let wake = () => {};
  const onChanged = (error, tools) => {
    lists.push(error ?? tools.some(({ name }) => name === 'a_new_tool'));
    wake();
  };
  const client = await connect(
    clientWith({}, { listChanged: { tools: { onChanged, debounceMs: 0 } } }),
    {}, // only a client that discovers the server itself listens of its own accord
  );
  assert.deepEqual(client.autoOpenedSubscription.honoredFilter, { toolsListChanged: true });
  const changed = async name => {
    const next = new Promise(resolve => (wake = resolve));
    await client.callTool({ name, arguments: { name: 'a_new_tool' } });
    await next;
  };
  await changed('grow');
  await changed('shrink');
  assert.deepEqual(lists, [true, false]);
}

export async function several_are_open_at_once(connect) {
  const { client, told, heard } = await listening(connect);
  const uris = Array.from({ length: 20 }, (_, index) => `test://one/${index}`);
  const opened = await Promise.all(
    uris.map(uri => client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })),
  );
  await client.callTool({ name: LISTS.tools.tool });
  await heard(LISTS.tools.method, undefined, uris.length);
  assert.equal(new Set(told.map(({ subscription }) => subscription)).size, uris.length);
  await Promise.all(
    uris.map(uri => client.callTool({ name: 'touch', arguments: { uri } })),
  );
  await Promise.all(uris.map(uri => heard(UPDATED, uri)));
  assert.equal(told.length, 2 * uris.length);
  await Promise.all(opened.map(subscription => subscription.close()));
}

export async function one_that_is_closed_hears_nothing_more(connect) {
  const { client, told, heard } = await listening(connect);
  const closed = await client.listen({ promptsListChanged: true });
  await client.listen({ toolsListChanged: true });
  await client.callTool({ name: LISTS.prompts.tool });
  await heard(LISTS.prompts.method);
  await closed.close();
  assert.equal(await closed.closed, 'local');
  await client.callTool({ name: LISTS.prompts.tool });
  await client.callTool({ name: LISTS.tools.tool });
  await heard(LISTS.tools.method);
  assert.equal(told.length, 2);
}

export async function one_that_is_aborted_leaves_the_others_alone(connect) {
  const { client, heard } = await listening(connect);
  const leave = new AbortController();
  const aborted = await client.listen({ toolsListChanged: true }, { signal: leave.signal });
  await client.listen({ promptsListChanged: true });
  leave.abort();
  assert.equal(await aborted.closed, 'local');
  await client.callTool({ name: LISTS.prompts.tool });
  await heard(LISTS.prompts.method);
}

export async function opening_and_closing_wears_nothing_out(connect) {
  const { client, heard } = await listening(connect);
  // Many more than may be open at once.
  for (let round = 0; round < 20; round += 1) {
    const filters = Array.from({ length: 20 }, () => client.listen({ toolsListChanged: true }));
    await Promise.all((await Promise.all(filters)).map(subscription => subscription.close()));
  }
  await client.listen({ promptsListChanged: true });
  await client.callTool({ name: LISTS.prompts.tool });
  await heard(LISTS.prompts.method);
}

export async function a_malformed_filter_is_an_error(connect) {
  const { client } = await listening(connect);
  await assert.rejects(client.listen({ toolsListChanged: 'yes' }), { code: -32602 });
  await client.listen({ toolsListChanged: true });
}
