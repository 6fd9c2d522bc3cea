// A client that notes what it is told of changes.

import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { hearing } from '../hearing.mjs';
import { clientWith } from './people.mjs';

export { LISTS, UPDATED } from '../hearing.mjs';

const CHANGES = [
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
];

/** A connected client, with `told` and `heard` of {@link hearing}. */
export async function listening(connect) {
  const client = await connect(clientWith());
  const { told, note, heard } = hearing();
  for (const schema of CHANGES) {
    client.setNotificationHandler(schema, ({ method, params }) => {
      note({ method, uri: params?.uri });
    });
  }
  return { client, told, heard };
}
