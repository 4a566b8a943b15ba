// Calls what Resend's client has and this service has not: the methods that
// ABSENT names. Prints the error of each as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const id = process.env.ID;
const to = 'ann@example.com';

// What goes into methods that don't take an id alone.
const everything = { inboxId: id, threadId: id, emailId: id, draftId: id, labelId: id, id, labels: ['x'], name: 'x', to, from: to, text: 'x' };
const given = {
  'domains.claims.create': [{ name: 'example.test' }],
  'inboxes.create': [{ username: 'x', domain: 'example.test' }],
  'inboxes.get': [id],
  'inboxes.list': [],
  'inboxes.remove': [id],
  'inboxes.update': [id, { name: 'x' }],
  'oauthGrants.list': [{ limit: 5 }],
};

const out = {};
for (const name of process.env.ABSENT.split(' ')) {
  const parts = name.split('.');
  const last = parts.pop();
  const service = parts.reduce((o, part) => o[part], resend);
  const args = given[name] ?? (name.startsWith('inboxes.') ? [everything] : [id]);
  try {
    out[name] = (await service[last](...args)).error ?? { message: 'no error' };
  } catch (error) {
    out[name] = { message: `thrown: ${error.message}` };
  }
}
console.log(JSON.stringify(out));
