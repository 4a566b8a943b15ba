// What the other scripts leave out of Resend's client: the second names of the
// sending methods, the methods beneath all others, and usage. Prints what it got
// as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const mail = (to) => ({ from, to, subject: `to ${to}`, text: 'hello' });
const sent = ok(await resend.emails.create(mail('one@example.com')));
const batch = ok(await resend.batch.create([mail('two@example.com'), mail('three@example.com')]));
const topic = ok(await resend.post('/topics', { name: 'News', default_subscription: 'opt_in' }));
const changed = ok(await resend.patch(`/topics/${topic.id}`, { name: 'Old news' }));
const read = ok(await resend.get(`/topics/${topic.id}`));
const put = (await resend.put(`/topics/${topic.id}`, { name: 'x' })).error;
const removed = ok(await resend.delete(`/topics/${topic.id}`));
const gone = (await resend.get(`/topics/${topic.id}`)).error;
const usage = ok(await resend.usage.get());
console.log(JSON.stringify({ sent, batch, topic, changed, read, removed, usage, errors: { put, gone } }));
