// What an application does with Resend's client: sends with every kind of
// field, reads back, and downloads. Prints what it got as one JSON object.
import { setTimeout as pause } from 'node:timers/promises';
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const from = process.env.FROM;
const binary = Buffer.from(JSON.parse(process.env.BINARY));

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

async function untilSent(id) {
  for (let tries = 0; tries < 600; tries++) {
    const email = ok(await resend.emails.get(id));
    if (email.last_event !== 'queued') return email;
    await pause(100);
  }
  throw new Error(`${id} stays queued`);
}

const full = {
  from,
  to: ['Ann Example <ann@example.com>', 'bob@example.com'],
  cc: 'carl@example.com',
  bcc: ['dora@example.com'],
  replyTo: 'Support <support@example.test>',
  subject: process.env.SUBJECT_FULL,
  html: '<p>Grüße, <b>Ann</b></p>',
  text: 'Grüße, Ann',
  headers: { 'X-Entity-Ref-ID': 'ref-1' },
  tags: [{ name: 'category', value: 'welcome' }],
  attachments: [
    { filename: 'data.bin', content: binary },
    { filename: 'note.txt', content: binary.toString('base64'), contentType: 'text/plain' },
  ],
};
const small = {
  from,
  to: 'eve@example.com',
  cc: ['fred@example.com'],
  bcc: 'gina@example.com',
  replyTo: ['one@example.test', 'two@example.test'],
  subject: process.env.SUBJECT_SMALL,
  text: 'only text',
};

const sent = ok(await resend.emails.send(full, { idempotencyKey: 'sdktest-full' }));
const again = ok(await resend.emails.send(full, { idempotencyKey: 'sdktest-full' }));
const mismatch = (await resend.emails.send({ ...full, subject: 'other' }, { idempotencyKey: 'sdktest-full' })).error;
const sentSmall = ok(await resend.emails.send(small));
// Clients up to 6.28 send a Buffer as JSON writes it.
const older = ok(await resend.post('/emails', {
  from, to: 'hal@example.com', subject: process.env.SUBJECT_OLDER, text: 'older',
  attachments: [{ filename: 'data.bin', content: binary }],
}));

const emails = { full: await untilSent(sent.id), small: await untilSent(sentSmall.id), older: await untilSent(older.id) };
const attachments = ok(await resend.emails.attachments.list({ emailId: sent.id }));
const attachment = ok(await resend.emails.attachments.get({ emailId: sent.id, id: attachments.data[0].id }));
const download = await fetch(attachment.download_url);
const first = ok(await resend.emails.list({ limit: 1 }));
const rest = ok(await resend.emails.list({ limit: 100, after: first.data[0].id }));

console.log(JSON.stringify({
  ids: { full: sent.id, again: again.id, small: sentSmall.id, older: older.id },
  mismatch, emails, attachments, attachment,
  download: { status: download.status, bytes: [...Buffer.from(await download.arrayBuffer())] },
  first, rest,
}));
