// A client that notes what its subscriptions tell it.

import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/client';

import { hearing, LISTS, UPDATED } from './hearing.mjs';
import { clientWith } from './people.mjs';

export { LISTS, UPDATED };

/** A connected client, with `told` and `heard` of {@link hearing}. */
export async function listening(connect) {
  const client = await connect(clientWith());
  const { told, note, heard } = hearing();
  for (const method of [UPDATED, ...Object.values(LISTS).map(({ method }) => method)]) {
    client.setNotificationHandler(method, ({ params }) => {
      const subscription = params?._meta?.[SUBSCRIPTION_ID_META_KEY];
      note({ method, uri: params?.uri, subscription });
    });
  }
  return { client, told, heard };
}
