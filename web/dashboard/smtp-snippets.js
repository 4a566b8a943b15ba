// The settings by which programs hand in mail by SMTP, as each of them writes them.

/** Programs, by id and name. */
export const programs = [['wordpress', 'WordPress'], ['django', 'Django'], ['laravel', 'Laravel'], ['rails', 'Rails'], ['nodemailer', 'Nodemailer'], ['grafana', 'Grafana'], ['postfix', 'Postfix']];

/**
 * Configuration snippets for programs. The key appears by its variable only.
 * @param {string} program @param {{host: string, port: number, user: string, tls: string}} at @param {string} from
 */
export function settings(program, { host, port, user, tls }, from) {
	const implicit = tls === 'implicit';
	const secure = tls !== 'none';
	return {
		wordpress: `// wp-config.php\ndefine( 'MAILER_KEY', 'mlr_…' );\n\n// wp-content/mu-plugins/mailer.php\n<?php\nadd_action( 'phpmailer_init', function ( $mail ) {\n\t$mail->isSMTP();\n\t$mail->Host       = '${host}';\n\t$mail->Port       = ${port};\n\t$mail->SMTPAuth   = true;\n\t$mail->Username   = '${user}';\n\t$mail->Password   = MAILER_KEY;\n\t$mail->SMTPSecure = '${implicit ? 'ssl' : secure ? 'tls' : ''}';\n${secure ? '' : '\t$mail->SMTPAutoTLS = false;\n'}} );\nadd_filter( 'wp_mail_from', fn() => '${from}' );`,
		django: `# settings.py\nEMAIL_HOST = "${host}"\nEMAIL_PORT = ${port}\nEMAIL_HOST_USER = "${user}"\nEMAIL_HOST_PASSWORD = os.environ["MAILER_KEY"]\n${implicit ? 'EMAIL_USE_SSL = True' : `EMAIL_USE_TLS = ${secure ? 'True' : 'False'}`}\nDEFAULT_FROM_EMAIL = "${from}"`,
		laravel: `# .env\nMAIL_MAILER=smtp\nMAIL_SCHEME=${implicit ? 'smtps' : 'smtp'}\nMAIL_HOST=${host}\nMAIL_PORT=${port}\nMAIL_USERNAME=${user}\nMAIL_PASSWORD=mlr_…\nMAIL_FROM_ADDRESS=${from}`,
		rails: `# config/environments/production.rb\nconfig.action_mailer.delivery_method = :smtp\nconfig.action_mailer.smtp_settings = {\n  address: "${host}",\n  port: ${port},\n  user_name: "${user}",\n  password: ENV["MAILER_KEY"],\n  authentication: :plain,\n  ${implicit ? 'tls: true' : `enable_starttls: ${secure}`}\n}\nconfig.action_mailer.default_options = { from: "${from}" }`,
		nodemailer: `import nodemailer from 'nodemailer'\n\nconst transport = nodemailer.createTransport({\n  host: '${host}',\n  port: ${port},\n  secure: ${implicit},${implicit ? '' : secure ? '\n  requireTLS: true,' : '\n  ignoreTLS: true,'}\n  auth: { user: '${user}', pass: process.env.MAILER_KEY },\n})\n\nawait transport.sendMail({ from: '${from}', to: 'you@example.org', subject: 'Hello', text: 'It works.' })`,
		grafana: `; grafana.ini\n[smtp]\nenabled = true\nhost = ${host}:${port}\nuser = ${user}\npassword = $__env{MAILER_KEY}\nfrom_address = ${from}\n${implicit ? '' : `startTLS_policy = ${secure ? 'MandatoryStartTLS' : 'NoStartTLS'}`}`.trimEnd(),
		postfix: `# /etc/postfix/main.cf\nrelayhost = [${host}]:${port}\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd\nsmtp_sasl_security_options = noanonymous\nsmtp_tls_security_level = ${secure ? 'encrypt' : 'none'}${implicit ? '\nsmtp_tls_wrappermode = yes' : ''}\n\n# /etc/postfix/sasl_passwd (mode 600), then: postmap /etc/postfix/sasl_passwd\n[${host}]:${port} ${user}:mlr_…`,
	}[program] ?? '';
}
