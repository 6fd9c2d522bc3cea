// Clients with somebody behind them: a person, a model, roots.

import { Client } from '@modelcontextprotocol/client';

export { accepting, living, saying, textOf } from './answers.mjs';

export const REVISION = '2026-07-28';

const ASKED = {
  elicitation: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};
const DECLARED = { elicitation: { form: {} }, sampling: {}, roots: {} };

/**
 * A client that has a capability for each function given, and notes what it was asked in `asked`.
 */
export function clientWith(people = {}, options = {}) {
  const names = Object.keys(people);
  const client = new Client(
    { name: 'typescript', version: '1' },
    {
      capabilities: Object.fromEntries(names.map(name => [name, DECLARED[name]])),
      versionNegotiation: { mode: { pin: REVISION } },
      ...options,
    },
  );
  const asked = [];
  for (const name of names) {
    client.setRequestHandler(ASKED[name], async request => {
      asked.push(request.params?.message ?? request.method);
      return people[name](request.params);
    });
  }
  return Object.assign(client, { asked });
}
