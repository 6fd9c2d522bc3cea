// Clients of revision 2025-11-25 with somebody behind them: a person, a model, roots.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

export { accepting, living, saying, textOf } from '../answers.mjs';

export const REVISION = '2025-11-25';

const ASKED = {
  elicitation: ElicitRequestSchema,
  sampling: CreateMessageRequestSchema,
  roots: ListRootsRequestSchema,
};
const DECLARED = {
  elicitation: { form: { applyDefaults: true }, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

export const declining = () => ({ action: 'decline' });
export const cancelling = () => ({ action: 'cancel' });

/**
 * A client that has a capability for each function given, or those of `declared`, and notes what
 * it was asked in `asked`. A function takes the parameters, and what the SDK knows of the request.
 */
export function clientWith(people = {}, declared = {}) {
  const names = Object.keys(people);
  const capabilities = Object.fromEntries(names.map(name => [name, DECLARED[name]]));
  const client = new Client(
    { name: 'typescript', version: '1' },
    { capabilities: { ...capabilities, ...declared } },
  );
  const asked = [];
  for (const name of names) {
    client.setRequestHandler(ASKED[name], async (request, extra) => {
      asked.push(request.params?.message ?? request.method);
      return people[name](request.params, extra);
    });
  }
  return Object.assign(client, { asked });
}
