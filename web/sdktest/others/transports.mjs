// Other people's transports to Resend's API: Payload's adapter, Documenso's for
// Nodemailer, and Auth.js' provider.
import { register } from 'node:module';
import { call, print, redirect } from './calls.mjs';

// The adapter takes nothing of Payload itself but the class of its errors.
register('data:text/javascript,' + encodeURIComponent(`
  export async function resolve(name, context, next) {
    if (name !== 'payload') return next(name, context);
    return { url: 'data:text/javascript,export class APIError extends Error {}', shortCircuit: true };
  }`));
redirect();
const { resendAdapter } = await import('@payloadcms/email-resend');
const { ResendTransport } = await import('@documenso/nodemailer-resend');
const { default: nodemailer } = await import('nodemailer');
const { default: provider } = await import('@auth/core/providers/resend');

const apiKey = process.env.RESEND_API_KEY;
const address = process.env.FROM;
const to = 'ann@example.com';
const binary = Buffer.from(JSON.parse(process.env.BINARY));

const payload = resendAdapter({ apiKey, defaultFromAddress: address, defaultFromName: 'Shop' })();
const mail = { to, subject: 'from Payload', html: '<p>hello</p>' };
await call('payload', () => payload.sendEmail({ ...mail, attachments: [{ filename: 'data.bin', content: binary }], headers: [{ key: 'X-Ref', value: '1' }] }));
await call('payload: name with a comma', () => payload.sendEmail({ ...mail, from: { name: 'Shop, Inc.', address } }));
await call('payload: no subject', () => payload.sendEmail({ to, html: '<p>hello</p>' }));
await call('payload: attachment by address', () => payload.sendEmail({ ...mail, attachments: [{ filename: 'a', path: 'https://example.com/a' }] }));

const mailer = nodemailer.createTransport(ResendTransport.makeTransport({ apiKey }));
const letter = { to, subject: 'from Nodemailer', text: 'hello', replyTo: 'Support <r@example.com>' };
await call('nodemailer', () => mailer.sendMail({ ...letter, from: { name: 'Shop', address }, attachments: [{ filename: 'data.bin', content: binary }] }));
await call('nodemailer: name with a comma', () => mailer.sendMail({ ...letter, from: { name: 'Shop, Inc. (news)', address } }));
await call('nodemailer: quoted by its user', () => mailer.sendMail({ ...letter, from: `"Shop, Inc." <${address}>` }));

const auth = { ...provider({ from: `Shop <${address}>`, apiKey }), apiKey, from: `Shop <${address}>` };
await call('auth.js', () => auth.sendVerificationRequest({ identifier: to, provider: auth, url: 'https://app.example.test/in?token=1', theme: {} }));
print();
