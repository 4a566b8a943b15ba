// Reads received mail through Resend's client: the list, the email whose subject is
// SUBJECT, its attachments; and forwards it. Prints what it got as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const list = ok(await resend.emails.receiving.list({ limit: 5 }));
const id = list.data[0].id;
const email = ok(await resend.emails.receiving.get(id));
const files = ok(await resend.emails.receiving.attachments.list({ emailId: id }));
const file = ok(await resend.emails.receiving.attachments.get({ emailId: id, id: files.data[0].id }));
const content = await (await fetch(file.download_url)).text();
const raw = await (await fetch(email.raw.download_url)).text();
const forwarded = ok(await resend.emails.receiving.forward({ emailId: id, to: 'ann@example.com', from: process.env.FROM }));
const { error } = await resend.emails.receiving.get(process.env.ID);
console.log(JSON.stringify({ list, email, files, file, content, raw, forwarded, error }));
