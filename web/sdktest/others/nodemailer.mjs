// Sends by Nodemailer, two messages over one connection, the second with TLS where it is offered.
import nodemailer from 'nodemailer';
import { readFileSync } from 'node:fs';

const { SMTP_HOST, SMTP_PORT, SMTP_TLS, SMTP_KEY, SMTP_CA } = process.env;
const transport = nodemailer.createTransport({
	host: SMTP_HOST, port: Number(SMTP_PORT), secure: SMTP_TLS === 'tls', requireTLS: SMTP_TLS === 'starttls', ignoreTLS: SMTP_TLS === 'off', pool: true, maxConnections: 1,
	auth: { user: 'resend', pass: SMTP_KEY }, tls: SMTP_CA ? { ca: readFileSync(SMTP_CA) } : {},
});
const answers = [];
for (const n of ['', ' again']) {
	const sent = await transport.sendMail({
		from: 'Ada <ada@example.test>', to: 'zofia@example.org', bcc: 'hidden@example.org', subject: `by Nodemailer${n}`, text: 'Dzień dobry from Nodemailer', html: '<p>Dzień dobry from <b>Nodemailer</b></p>',
		attachments: [{ filename: 'notes.txt', content: 'first\nsecond\n' }], icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n' },
		headers: { 'X-Mailer-Tag': 'kind=welcome' },
	});
	answers.push(sent.response);
}
transport.close();
console.log(answers.join('\n'));
