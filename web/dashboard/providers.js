// Written by go test ./web/dashboard -update, from app/rules/feedback.

/**
 * Providers: their name, their SMTP servers with the area of each, and the user name if it is the
 * same for everybody.
 * @type {Record<string, {name: string, hosts: string[][], user?: string}>}
 */
export const providers = {
	ses: { name: 'Amazon SES', hosts: [['email-smtp.us-east-1.amazonaws.com', 'us-east-1'], ['email-smtp.us-east-2.amazonaws.com', 'us-east-2'], ['email-smtp.us-west-1.amazonaws.com', 'us-west-1'], ['email-smtp.us-west-2.amazonaws.com', 'us-west-2'], ['email-smtp.af-south-1.amazonaws.com', 'af-south-1'], ['email-smtp.ap-northeast-1.amazonaws.com', 'ap-northeast-1'], ['email-smtp.ap-northeast-2.amazonaws.com', 'ap-northeast-2'], ['email-smtp.ap-northeast-3.amazonaws.com', 'ap-northeast-3'], ['email-smtp.ap-south-1.amazonaws.com', 'ap-south-1'], ['email-smtp.ap-southeast-1.amazonaws.com', 'ap-southeast-1'], ['email-smtp.ap-southeast-2.amazonaws.com', 'ap-southeast-2'], ['email-smtp.ca-central-1.amazonaws.com', 'ca-central-1'], ['email-smtp.eu-central-1.amazonaws.com', 'eu-central-1'], ['email-smtp.eu-north-1.amazonaws.com', 'eu-north-1'], ['email-smtp.eu-south-1.amazonaws.com', 'eu-south-1'], ['email-smtp.eu-west-1.amazonaws.com', 'eu-west-1'], ['email-smtp.eu-west-2.amazonaws.com', 'eu-west-2'], ['email-smtp.eu-west-3.amazonaws.com', 'eu-west-3'], ['email-smtp.il-central-1.amazonaws.com', 'il-central-1'], ['email-smtp.me-south-1.amazonaws.com', 'me-south-1'], ['email-smtp.sa-east-1.amazonaws.com', 'sa-east-1']] },
	postmark: { name: 'Postmark', hosts: [['smtp.postmarkapp.com', '']] },
	mailgun: { name: 'Mailgun', hosts: [['smtp.mailgun.org', 'US'], ['smtp.eu.mailgun.org', 'EU']] },
	sendgrid: { name: 'SendGrid', hosts: [['smtp.sendgrid.net', 'Global'], ['smtp.eu.sendgrid.net', 'EU']], user: 'apikey' },
	mailjet: { name: 'Mailjet', hosts: [['in-v3.mailjet.com', '']] },
	brevo: { name: 'Brevo', hosts: [['smtp-relay.brevo.com', '']] },
	sparkpost: { name: 'SparkPost', hosts: [['smtp.sparkpostmail.com', 'US'], ['smtp.eu.sparkpostmail.com', 'EU']], user: 'SMTP_Injection' },
	azure: { name: 'Azure Communication Services', hosts: [['smtp.azurecomm.net', '']] },
	postal: { name: 'Postal', hosts: [] },
	lettermint: { name: 'Lettermint', hosts: [['smtp.lettermint.co', '']], user: 'lettermint' },
	smtp2go: { name: 'SMTP2GO', hosts: [['mail.smtp2go.com', 'Global'], ['mail-eu.smtp2go.com', 'EU'], ['mail-us.smtp2go.com', 'US'], ['mail-au.smtp2go.com', 'AU']] },
	elasticemail: { name: 'Elastic Email', hosts: [['smtp.elasticemail.com', '']] },
};
