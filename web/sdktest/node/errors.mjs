// Every refusal that an application may meet, as Resend's client shows it.
// Prints {case: error} as one JSON object; a case without an error is null.
import { Resend } from './client.mjs';

const nobody = '019e0000-0000-7000-8000-000000000000';
const { FROM, UNVERIFIED, WRONG_KEY, RESTRICTED_KEY, SCOPED_KEY } = process.env;
const resend = new Resend(process.env.RESEND_API_KEY);
const restricted = new Resend(RESTRICTED_KEY);
const bare = new Resend('nothing');
bare.headers.delete('Authorization');

const email = { from: FROM, to: 'ann@example.com', subject: 'refused', text: 'refused' };
const cases = {
  missing_key: () => bare.emails.send(email),
  wrong_key: () => new Resend(WRONG_KEY).emails.send(email),
  restricted_get: () => restricted.emails.get(nobody),
  restricted_list: () => restricted.emails.list(),
  scoped_send: () => new Resend(SCOPED_KEY ?? 'none').emails.send(email),
  unknown_field: () => resend.post('/emails', { ...email, no_such_field: 1 }),
  unverified: () => resend.emails.send({ ...email, from: UNVERIFIED }),
  no_content: () => resend.emails.send({ ...email, text: undefined }),
  no_recipient: () => resend.emails.send({ ...email, to: [] }),
  attachment_path: () => resend.emails.send({ ...email, attachments: [{ filename: 'a', path: 'https://example.com/a' }] }),
  not_found: () => resend.emails.get(nobody),
  attachments_not_found: () => resend.emails.attachments.list({ emailId: nobody }),
  no_such_route: () => resend.get('/no-such-route'),
};
const out = {};
for (const [name, call] of Object.entries(cases)) out[name] = (await call()).error;
console.log(JSON.stringify(out));
