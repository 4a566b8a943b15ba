// A first email in several languages, as the SDKs that speak to this server write it.

/** Languages, by id and name. */
export const tongues = [['curl', 'curl'], ['node', 'Node'], ['go', 'Go'], ['python', 'Python'], ['php', 'PHP'], ['ruby', 'Ruby'], ['java', 'Java'], ['csharp', 'C#']];

/**
 * The code that sends a first email. The key is read from the environment: it belongs into no file.
 * @param {string} tongue @param {string} server without a slash at its end @param {string} from @param {string} to
 */
export function snippet(tongue, server, from, to) {
	const mail = { from, to: [to], subject: 'Hello from Mailer', html: '<p>It works.</p>' };
	const json = JSON.stringify(mail);
	return {
		curl: `curl ${server}/emails \\\n  -H "Authorization: Bearer $MAILER_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`,
		node: `// npm install resend\nimport { Resend } from 'resend'\n\nconst resend = new Resend(process.env.MAILER_KEY, { baseUrl: '${server}' })\n\nconst { data, error } = await resend.emails.send({\n  from: '${from}',\n  to: '${to}',\n  subject: '${mail.subject}',\n  html: '${mail.html}',\n})`,
		go: `// go get github.com/resend/resend-go/v3\nclient := resend.NewClient(os.Getenv("MAILER_KEY"))\nclient.BaseURL, _ = url.Parse("${server}/")\n\nsent, err := client.Emails.Send(&resend.SendEmailRequest{\n\tFrom:    "${from}",\n\tTo:      []string{"${to}"},\n\tSubject: "${mail.subject}",\n\tHtml:    "${mail.html}",\n})`,
		python: `# pip install resend\nimport os, resend\n\nresend.api_key = os.environ["MAILER_KEY"]\nresend.api_url = "${server}"\n\nresend.Emails.send({\n    "from": "${from}",\n    "to": ["${to}"],\n    "subject": "${mail.subject}",\n    "html": "${mail.html}",\n})`,
		php: `// composer require resend/resend-php\nputenv('RESEND_BASE_URL=${server}');\n$resend = Resend::client(getenv('MAILER_KEY'));\n\n$resend->emails->send([\n    'from' => '${from}',\n    'to' => ['${to}'],\n    'subject' => '${mail.subject}',\n    'html' => '${mail.html}',\n]);`,
		ruby: `# gem install resend, and set RESEND_BASE_URL=${server}/\nrequire "resend"\n\nResend.api_key = ENV["MAILER_KEY"]\n\nResend::Emails.send({\n  from: "${from}",\n  to: ["${to}"],\n  subject: "${mail.subject}",\n  html: "${mail.html}",\n})`,
		java: `var request = HttpRequest.newBuilder(URI.create("${server}/emails"))\n    .header("Authorization", "Bearer " + System.getenv("MAILER_KEY"))\n    .header("Content-Type", "application/json")\n    .POST(HttpRequest.BodyPublishers.ofString("""\n        ${json}\n        """))\n    .build();\nvar answer = HttpClient.newHttpClient()\n    .send(request, HttpResponse.BodyHandlers.ofString());`,
		csharp: `using var client = new HttpClient { BaseAddress = new("${server}") };\nclient.DefaultRequestHeaders.Authorization =\n    new("Bearer", Environment.GetEnvironmentVariable("MAILER_KEY"));\n\nvar answer = await client.PostAsJsonAsync("/emails", new {\n    from = "${from}",\n    to = new[] { "${to}" },\n    subject = "${mail.subject}",\n    html = "${mail.html}",\n});`,
	}[tongue] ?? '';
}
