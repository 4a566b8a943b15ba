// Reads all received mail through Resend's client with the bytes of each message and attachment. Prints it as one JSON
// list.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

async function bytes(url) {
  return Buffer.from(await (await fetch(url)).arrayBuffer()).toString('base64');
}

const all = [];
for (const { id } of ok(await resend.emails.receiving.list({ limit: 100 })).data) {
  const email = ok(await resend.emails.receiving.get(id));
  const files = [];
  for (const file of ok(await resend.emails.receiving.attachments.list({ emailId: id })).data) {
    const { filename, content_type, download_url } = ok(await resend.emails.receiving.attachments.get({ emailId: id, id: file.id }));
    files.push({ filename, content_type, content: await bytes(download_url) });
  }
  all.push({ subject: email.subject, from: email.from, text: email.text, received_for: email.received_for, raw: await bytes(email.raw.download_url), files });
}
console.log(JSON.stringify(all));
