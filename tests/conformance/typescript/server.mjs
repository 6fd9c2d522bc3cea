// A server of the official TypeScript SDK, which the client of drive.py calls.
//
//   node server.mjs stdio
//   node server.mjs http      (it prints {"port"} once it listens)

import { createServer } from 'node:http';
import { Readable } from 'node:stream';

import { createMcpHandler, createRequestStateCodec, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { addAsking } from './server_asks.mjs';
import { addChanges } from './server_changes.mjs';
import { addPlain } from './server_plain.mjs';
import { addPrompts, addResources } from './server_reads.mjs';

// The same in all processes, for a conversation that goes on in another one.
const states = createRequestStateCodec({
  key: 'a key that is known to everybody here',
  bind: ctx => ctx.mcpReq.method,
});

function makeServer(lose, tellChange) {
  const server = new McpServer(
    { name: 'typescript', version: '2.4.0', title: 'TypeScript' },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
      instructions: 'Ask away.',
      requestState: { verify: states.verify },
    },
  );
  addPlain(server);
  addAsking(server, states);
  addPrompts(server, states);
  addResources(server);
  addChanges(server, tellChange ?? changesOf(server), lose);
  return server;
}

// What a handler for HTTP has as its `notify`; on stdio the one server tells.
function changesOf(server) {
  return {
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
    resourcesChanged: () => server.sendResourceListChanged(),
    resourceUpdated: uri => server.server.sendResourceUpdated({ uri }),
  };
}

function serveHttp() {
  const lose = () => http.closeAllConnections();
  const handler = createMcpHandler(() => makeServer(lose, handler.notify), {
    legacy: 'reject',
    onerror: console.error,
  });
  const http = createServer((incoming, outgoing) => void answer(handler, incoming, outgoing));
  http.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: http.address().port })));
}

async function answer(handler, incoming, outgoing) {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method,
    headers: incoming.headers,
    body: incoming.method === 'POST' ? Readable.toWeb(incoming) : null,
    duplex: 'half',
    signal: gone.signal,
  });
  try {
    const response = await handler.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    for await (const chunk of response.body ?? []) {
      outgoing.write(chunk);
    }
    outgoing.end();
  } catch (error) {
    if (!gone.signal.aborted) {
      console.error(error);
    }
    outgoing.destroy();
  }
}

if (process.argv[2] === 'http') {
  serveHttp();
} else {
  serveStdio(() => makeServer(() => process.exit(3)), { legacy: 'reject', onerror: console.error });
}
