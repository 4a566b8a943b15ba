// A walk through an older line of Resend's own client: PACKAGE says which.
import { createRequire } from 'node:module';
import { call, print } from './calls.mjs';

const { Resend } = createRequire(import.meta.url)(process.env.PACKAGE);
const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;
const newer = process.env.PACKAGE >= 'resend-4'; // it turns the names of fields itself

const sent = await call('send', () => resend.emails.send({
  from, to: ['ann@example.com'], cc: 'carl@example.com', subject: 'from an older client', html: '<p>hello</p>', text: 'hello',
  [newer ? 'replyTo' : 'reply_to']: 'r@example.com', headers: { 'X-Entity-Ref-ID': '1' }, tags: [{ name: 'category', value: 'welcome' }],
  attachments: [{ filename: 'data.bin', content: Buffer.from(JSON.parse(process.env.BINARY)) }],
}));
await call('email', () => resend.emails.get(sent?.id));
await call('nobody', () => resend.emails.send({ from, to: [], subject: 's', text: 't' }));
await call('elsewhere', () => resend.emails.send({ from: 'a@elsewhere.test', to: 'b@example.com', subject: 's', text: 't' }));
await call('domains', () => resend.domains.list());
await call('keys', () => resend.apiKeys.list());
const key = await call('key', () => resend.apiKeys.create({ name: 'made', permission: 'sending_access' }));
await call('keyGone', () => resend.apiKeys.remove(key?.id));
if (resend.batch) {
  const each = (to) => ({ from, to, subject: 'one of two', text: 'hello' });
  await call('batch', () => resend.batch.send([each('one@example.com'), each('two@example.com')]));
}
if (resend.audiences) {
  const first = await call('audience', () => resend.audiences.create({ name: 'First' }));
  const second = await call('audienceToo', () => resend.audiences.create({ name: 'Second' }));
  const inAudience = (a) => (process.env.PACKAGE < 'resend-3' ? { audience_id: a.id } : { audienceId: a.id });
  const ann = { email: 'ann@example.com', unsubscribed: false };
  const contact = await call('contact', () => resend.contacts.create({ ...ann, ...inAudience(first) }));
  // Each sign-up by a form is such a call, however often the same person comes.
  await call('contactAgain', () => resend.contacts.create({ ...ann, ...inAudience(first) }));
  await call('contactElsewhere', () => resend.contacts.create({ ...ann, ...inAudience(second) }));
  await call('contactsElsewhere', () => resend.contacts.list({ ...inAudience(second) }));
  await call('contactChanged', () => resend.contacts.update({ id: contact?.id, ...inAudience(first), unsubscribed: true }));
  await call('contactGone', () => resend.contacts.remove({ id: contact?.id, ...inAudience(first) }));
}
print();
