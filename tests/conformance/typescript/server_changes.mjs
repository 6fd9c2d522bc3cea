// What changes, and tells of it. Over HTTP there is a server for each request: they share this.

import { z } from 'zod';

import { textResult } from './server_plain.mjs';

const shelf = { dune: 'Spice.' };

export function addChanges(server, tellChange, lose) {
  server.registerResource('dune', 'shelf://dune', {}, uri => ({
    contents: [{ uri: uri.href, text: shelf.dune }],
  }));
  const inputSchema = z.object({ to: z.string() });
  server.registerTool('rewrite', { inputSchema }, async ({ to }) => {
    shelf.dune = to;
    await tellChange.resourceUpdated('shelf://another');
    await tellChange.resourceUpdated('shelf://dune');
    return textResult('rewritten');
  });
  server.registerTool('change_lists', {}, () => {
    tellChange.toolsChanged();
    tellChange.promptsChanged();
    tellChange.resourcesChanged();
    return textResult('changed');
  });
  server.registerTool('lose', { description: 'Break all connections.' }, () => {
    lose();
    return new Promise(() => {});
  });
}
