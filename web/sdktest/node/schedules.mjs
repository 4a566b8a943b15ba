// Batches and schedules as an application uses them through Resend's client.
// Prints what it got as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const email = (to, more) => ({ from: process.env.FROM, to, subject: `to ${to}`, text: 'hello', ...more });
const later = new Date(Date.now() + 2 * 60 * 60 * 1000).toISOString();

const good = [email('one@example.com'), email('two@example.com', { scheduledAt: 'in 1 hour' })];
const mixed = [email('three@example.com'), email('nobody'), email('four@example.com')];
const out = { later };
out.strict = await resend.batch.send(good, { idempotencyKey: 'node-strict' });
out.strictAgain = await resend.batch.send(good, { idempotencyKey: 'node-strict' });
out.mismatch = await resend.batch.send([good[0]], { idempotencyKey: 'node-strict' });
out.refused = await resend.batch.send(mixed);
const permissive = { idempotencyKey: 'node-permissive', batchValidation: 'permissive' };
out.permissive = await resend.batch.send(mixed, permissive);
out.permissiveAgain = await resend.batch.send(mixed, permissive);

const minute = (await resend.emails.send(email('minute@example.com', { scheduledAt: 'in 1 min' }))).data.id;
out.minute = await resend.emails.get(minute);
out.moved = await resend.emails.update({ id: minute, scheduledAt: later });
out.afterMove = await resend.emails.get(minute);
out.badMove = await resend.emails.update({ id: minute, scheduledAt: 'in 31 days' });
out.canceled = await resend.emails.cancel(minute);
out.afterCancel = await resend.emails.get(minute);
out.canceledAgain = await resend.emails.cancel(minute);

const iso = (await resend.emails.send(email('iso@example.com', { scheduledAt: later }))).data.id;
out.iso = await resend.emails.get(iso);
out.shared = await resend.emails.share(iso, { expiresIn: '2 hours' });
out.now = await resend.emails.update({ id: iso, scheduledAt: new Date(Date.now() - 1000).toISOString() });
console.log(JSON.stringify(out));
