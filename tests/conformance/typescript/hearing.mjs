// What a client is told of changes, noted and waited for.

/** The lists that change, each with the tool that says so. */
export const LISTS = {
  tools: { method: 'notifications/tools/list_changed', tool: 'test_trigger_tool_change' },
  prompts: { method: 'notifications/prompts/list_changed', tool: 'test_trigger_prompt_change' },
  resources: { method: 'notifications/resources/list_changed', tool: 'change_resources' },
};
export const UPDATED = 'notifications/resources/updated';

/**
 * What was `told` so far; `note`, which adds to it; and `heard(method, uri, times)`, which waits
 * until such a notification has come so many times.
 */
export function hearing() {
  const told = [];
  const waiting = new Set();
  const note = notification => {
    told.push(notification);
    waiting.forEach(check => check());
  };
  const heard = (method, uri, times = 1) =>
    new Promise(resolve => {
      const check = () => {
        const those = told.filter(each => each.method === method && each.uri === uri);
        if (those.length >= times) resolve(waiting.delete(check));
      };
      waiting.add(check);
      check();
    });
  return { told, note, heard };
}
