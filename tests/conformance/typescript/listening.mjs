// A client that notes what it is told of changes, and waits for it.

import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/client';

import { clientWith } from './people.mjs';

/** The lists that change, each with the tool that says so. */
export const LISTS = {
  tools: { method: 'notifications/tools/list_changed', tool: 'test_trigger_tool_change' },
  prompts: { method: 'notifications/prompts/list_changed', tool: 'test_trigger_prompt_change' },
  resources: { method: 'notifications/resources/list_changed', tool: 'change_resources' },
};
export const UPDATED = 'notifications/resources/updated';

/**
 * A connected client with `told`, its notifications of changes, and `heard(method, uri, times)`,
 * which waits until such a one has come so many times.
 */
export async function listening(connect) {
  const client = await connect(clientWith());
  const told = [];
  const waiting = new Set();
  for (const method of [UPDATED, ...Object.values(LISTS).map(({ method }) => method)]) {
    client.setNotificationHandler(method, ({ params }) => {
      const subscription = params?._meta?.[SUBSCRIPTION_ID_META_KEY];
      told.push({ method, uri: params?.uri, subscription });
      waiting.forEach(check => check());
    });
  }
  const heard = (method, uri, times = 1) =>
    new Promise(resolve => {
      const check = () => {
        const those = told.filter(each => each.method === method && each.uri === uri);
        if (those.length >= times) resolve(waiting.delete(check));
      };
      waiting.add(check);
      check();
    });
  return { client, told, heard };
}
