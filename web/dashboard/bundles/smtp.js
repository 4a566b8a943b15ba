import{lib_core$html,lib_core$useState}from"./app.js";import{api$useGet}from"./app.js";import{format$size}from"./app.js";import{i18n$t}from"./app.js";import{router$base}from"./app.js";import{state$mayAdmin,state$me}from"./app.js";import{key_forms$Made,key_forms$MakeKey}from"./shared.js";import{keys$KeySections}from"./shared.js";var programs=[["wordpress","WordPress"],["django","Django"],["laravel","Laravel"],["rails","Rails"],["nodemailer","Nodemailer"],["grafana","Grafana"],["postfix","Postfix"]];function settings(program,{host,port,user,tls},from){let implicit=tls==="implicit",secure=tls!=="none";return{wordpress:`// wp-config.php
define( 'MAILER_KEY', 'mlr_…' );

// wp-content/mu-plugins/mailer.php
<?php
add_action( 'phpmailer_init', function ( $mail ) {
	$mail->isSMTP();
	$mail->Host       = '${host}';
	$mail->Port       = ${port};
	$mail->SMTPAuth   = true;
	$mail->Username   = '${user}';
	$mail->Password   = MAILER_KEY;
	$mail->SMTPSecure = '${implicit?"ssl":secure?"tls":""}';
${secure?"":`	$mail->SMTPAutoTLS = false;
`}} );
add_filter( 'wp_mail_from', fn() => '${from}' );`,django:`# settings.py
EMAIL_HOST = "${host}"
EMAIL_PORT = ${port}
EMAIL_HOST_USER = "${user}"
EMAIL_HOST_PASSWORD = os.environ["MAILER_KEY"]
${implicit?"EMAIL_USE_SSL = True":`EMAIL_USE_TLS = ${secure?"True":"False"}`}
DEFAULT_FROM_EMAIL = "${from}"`,laravel:`# .env
MAIL_MAILER=smtp
MAIL_SCHEME=${implicit?"smtps":"smtp"}
MAIL_HOST=${host}
MAIL_PORT=${port}
MAIL_USERNAME=${user}
MAIL_PASSWORD=mlr_…
MAIL_FROM_ADDRESS=${from}`,rails:`# config/environments/production.rb
config.action_mailer.delivery_method = :smtp
config.action_mailer.smtp_settings = {
  address: "${host}",
  port: ${port},
  user_name: "${user}",
  password: ENV["MAILER_KEY"],
  authentication: :plain,
  ${implicit?"tls: true":`enable_starttls: ${secure}`}
}
config.action_mailer.default_options = { from: "${from}" }`,nodemailer:`import nodemailer from 'nodemailer'

const transport = nodemailer.createTransport({
  host: '${host}',
  port: ${port},
  secure: ${implicit},${implicit?"":secure?`
  requireTLS: true,`:`
  ignoreTLS: true,`}
  auth: { user: '${user}', pass: process.env.MAILER_KEY },
})

await transport.sendMail({ from: '${from}', to: 'you@example.org', subject: 'Hello', text: 'It works.' })`,grafana:`; grafana.ini
[smtp]
enabled = true
host = ${host}:${port}
user = ${user}
password = $__env{MAILER_KEY}
from_address = ${from}
${implicit?"":`startTLS_policy = ${secure?"MandatoryStartTLS":"NoStartTLS"}`}`.trimEnd(),postfix:`# /etc/postfix/main.cf
relayhost = [${host}]:${port}
smtp_sasl_auth_enable = yes
smtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd
smtp_sasl_security_options = noanonymous
smtp_tls_security_level = ${secure?"encrypt":"none"}${implicit?`
smtp_tls_wrappermode = yes`:""}

# /etc/postfix/sasl_passwd (mode 600), then: postmap /etc/postfix/sasl_passwd
[${host}]:${port} ${user}:mlr_…`}[program]??""}import{ui_base$Bones,ui_base$Button,ui_base$Code,ui_base$Copy,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Head,ui_base$Notice,ui_base$Section}from"./app.js";import{ui_float$dialog}from"./app.js";function Smtp(){let{data,error,reload}=api$useGet("/smtp"),domains=api$useGet("/domains",{limit:100}).data?.data??[],[made,setMade]=lib_core$useState(null),make=async()=>{let answer=await ui_float$dialog(close=>lib_core$html`<${key_forms$MakeKey} close=${close} domains=${domains} />`);answer&&setMade(answer)};return lib_core$html`<${ui_base$Head} title=${i18n$t("smtp.title")}>${data?.ports.length&&state$mayAdmin.value?lib_core$html`<${ui_base$Button} kind="primary" icon="plus" onClick=${make}>${i18n$t("smtp.make")}<//>`:""}<//>
	<${keys$KeySections} at="/smtp" />
	${made&&lib_core$html`<${key_forms$Made} made=${made} domains=${domains} done=${()=>setMade(null)} />`}
	${error&&!data?lib_core$html`<${ui_base$Failed} error=${error} retry=${reload} />`:data?data.ports.length?lib_core$html`<${On} of=${data} domains=${domains} />`:lib_core$html`<${Off} />`:lib_core$html`<${ui_base$Bones} />`}`}var best=ports=>[...ports].sort((a,b)=>Number(a.local)-Number(b.local)||+(b.port===587)-+(a.port===587)||+(a.tls==="none")-+(b.tls==="none"))[0];function On({of,domains}){let[port,setPort]=lib_core$useState(best(of.ports).address),[program,setProgram]=lib_core$useState("wordpress"),at=of.ports.find(p=>p.address===port)??of.ports[0],host=at.local?"127.0.0.1":of.host,domain=domains.find(d=>d.status==="verified")??domains[0],ports=of.ports.map(p=>lib_core$html`<div class="row row--wrap" key=${p.address}><${ui_base$Copy} text=${String(p.port)} shown /><span class="muted">${i18n$t(`smtp.tls.${p.tls}`)}${p.local?`, ${i18n$t("smtp.local")}`:""}</span>${of.ports.length>1&&p!==at&&lib_core$html`<${ui_base$Button} kind="quiet" onClick=${()=>setPort(p.address)}>${i18n$t("smtp.show")}<//>`}</div>`);return lib_core$html`<div class="page page--text"><${ui_base$Section} title=${i18n$t("smtp.needs")}><${ui_base$Facts} pairs=${[[i18n$t("smtp.host"),lib_core$html`<${ui_base$Copy} text=${host} shown />`],[i18n$t("smtp.ports"),ports],[i18n$t("smtp.user"),lib_core$html`<${ui_base$Copy} text=${of.user} shown /> <span class="muted">${i18n$t("smtp.anyUser")}</span>`],[i18n$t("smtp.password"),lib_core$html`${i18n$t("smtp.key")} <a class="link" href=${`${router$base}/keys`}>${i18n$t("smtp.keys")}</a>`],[i18n$t("smtp.from"),domain?lib_core$html`${i18n$t("smtp.fromDomain")} <span class="mono">${domain.name}</span>`:lib_core$html`<a class="link" href=${`${router$base}/domains`}>${i18n$t("smtp.noDomain")}</a>`],[i18n$t("smtp.size"),format$size(of.size)]]} />${at.tls==="none"&&!at.local&&lib_core$html`<${ui_base$Notice} kind="warn">${i18n$t("smtp.clear")}<//>`}<//>
	<${ui_base$Section} title=${i18n$t("smtp.how")}><${ui_base$Code} name=${i18n$t("smtp.program")} tabs=${programs} at=${program} onTab=${setProgram} code=${settings(program,{host,port:at.port,user:of.user,tls:at.tls},`hello@${domain?.name??"example.com"}`)} /><p class="t12 muted">${i18n$t("smtp.keptOut")}</p><//></div>`}function Off(){return lib_core$html`<${ui_base$Empty} icon="key" title=${i18n$t("smtp.none")} act=${lib_core$html`<${ui_base$Button} kind="primary" href=${`${router$base}/keys`}>${i18n$t("smtp.keys")}<//><${ui_base$Button} href="/manual/smtp">${i18n$t("ui.manual")}<//>`}>${i18n$t("smtp.noneText")}<//>
	<div class="page page--text">${state$me.value.operator?lib_core$html`<${ui_base$Section} title=${i18n$t("smtp.turnOn")}><div class="stack stack--2"><p class="prose">${i18n$t("smtp.turnOnText")}</p><${ui_base$Code} name="mailer serve" code=${"--smtp-listen :587 --smtp-listen :465"} /></div><//>`:lib_core$html`<p class="muted">${i18n$t("smtp.askOperator")}</p>`}
	<${ui_base$Section} title=${i18n$t("smtp.api")}><${ui_base$Facts} pairs=${[[i18n$t("smtp.address"),lib_core$html`<${ui_base$Copy} text=${`${location.origin}/emails`} />`],[i18n$t("smtp.header"),lib_core$html`<code>Authorization: Bearer …</code>`]]} /><//></div>`}export{Smtp as default};
