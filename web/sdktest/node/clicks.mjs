// Who got a broadcast and who clicked in it, through Resend's client. Prints what
// it got as one JSON object.
import { Resend } from './client.mjs';

const resend = new Resend(process.env.RESEND_API_KEY);
const id = process.env.BROADCAST;

function ok({ data, error }) {
  if (error) throw new Error(JSON.stringify(error));
  return data;
}

const sent = ok(await resend.broadcasts.recipients(id, { type: 'sent', limit: 1 }));
const rest = ok(await resend.broadcasts.recipients(id, { type: 'sent', after: sent.data[0].id }));
const named = ok(await resend.broadcasts.recipients(id, { type: 'sent', email: 'bob' }));
const clicked = ok(await resend.broadcasts.recipients(id, { type: 'clicked' }));
const links = ok(await resend.broadcasts.clickedLinks(id, { limit: 5 }));
const badType = (await resend.broadcasts.recipients(id, { type: 'lost' })).error;
console.log(JSON.stringify({ sent, rest, named, clicked, links, errors: { badType } }));
