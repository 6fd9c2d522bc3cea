// A server that is the client's own child. On stdio only.

import assert from 'node:assert/strict';

import { listening } from './listening.mjs';

export async function sigterm_ends_subscriptions_gracefully(connect) {
  const { client } = await listening(connect);
  const opened = await Promise.all([
    client.listen({ toolsListChanged: true }),
    client.listen({ resourceSubscriptions: ['test://log'] }),
  ]);
  process.kill(client.transport.pid, 'SIGTERM');
  const ends = await Promise.all(opened.map(subscription => subscription.closed));
  assert.deepEqual(ends, ['graceful', 'graceful']);
}
