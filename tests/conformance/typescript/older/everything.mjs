// The official example server over HTTP, on a port that is free: it prints {"port"} once it listens.

import { Server } from 'node:net';

console.log = console.error; // it notes each request there
const { listen } = Server.prototype;
Server.prototype.listen = function listenAnywhere(_, told) {
  this.once('listening', () => {
    process.stdout.write(`${JSON.stringify({ port: this.address().port })}\n`);
  });
  return listen.call(this, 0, '127.0.0.1', told);
};

await import('@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js');
