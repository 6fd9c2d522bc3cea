// What people, models and clients answer, and what a result says.

export const accepting = content => () => ({ action: 'accept', content });

export const saying = text => () => ({
  role: 'assistant',
  content: { type: 'text', text },
  model: 'a-model',
  stopReason: 'endTurn',
});

export const living = (...uris) => () => ({ roots: uris.map(uri => ({ uri })) });

export const textOf = result => result.content.map(block => block.text).join('\n');
