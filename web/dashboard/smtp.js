// SMTP submission: host, ports, user and password for programs, with configuration snippets;
// if it is off, how to turn it on.
import { html, useState } from './lib/core.js';
import { useGet } from './api.js';
import { size } from './format.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { me, mayAdmin } from './state.js';
import { MakeKey, Made } from './key-forms.js';
import { KeySections } from './keys.js';
import { programs, settings } from './smtp-snippets.js';
import { Bones, Button, Code, Copy, Empty, Facts, Failed, Head, Notice, Section } from './ui/base.js';
import { dialog } from './ui/float.js';

/** The page. */
export default function Smtp() {
	const { data, error, reload } = useGet('/smtp');
	const domains = useGet('/domains', { limit: 100 }).data?.data ?? [];
	const [made, setMade] = useState(/** @type {any} */ (null));
	const make = async () => {
		const answer = await dialog((close) => html`<${MakeKey} close=${close} domains=${domains} />`);
		if (answer) setMade(answer);
	};
	return html`<${Head} title=${t('smtp.title')}>${data?.ports.length && mayAdmin.value ? html`<${Button} kind="primary" icon="plus" onClick=${make}>${t('smtp.make')}<//>` : ''}<//>
	<${KeySections} at="/smtp" />
	${made && html`<${Made} made=${made} domains=${domains} done=${() => setMade(null)} />`}
	${error && !data ? html`<${Failed} error=${error} retry=${reload} />` : !data ? html`<${Bones} />` : data.ports.length ? html`<${On} of=${data} domains=${domains} />` : html`<${Off} />`}`;
}

/** The port for most programs: the one for all, with TLS. */
const best = (ports) => [...ports].sort((a, b) => Number(a.local) - Number(b.local) || Number(b.port === 587) - Number(a.port === 587) || Number(a.tls === 'none') - Number(b.tls === 'none'))[0];

function On({ of, domains }) {
	const [port, setPort] = useState(best(of.ports).address);
	const [program, setProgram] = useState('wordpress');
	const at = of.ports.find((p) => p.address === port) ?? of.ports[0];
	const host = at.local ? '127.0.0.1' : of.host;
	const domain = domains.find((d) => d.status === 'verified') ?? domains[0];
	const ports = of.ports.map((p) => html`<div class="row row--wrap" key=${p.address}><${Copy} text=${String(p.port)} shown /><span class="muted">${t(`smtp.tls.${p.tls}`)}${p.local ? `, ${t('smtp.local')}` : ''}</span>${of.ports.length > 1 && p !== at && html`<${Button} kind="quiet" onClick=${() => setPort(p.address)}>${t('smtp.show')}<//>`}</div>`);
	return html`<div class="page page--text"><${Section} title=${t('smtp.needs')}><${Facts} pairs=${[
		[t('smtp.host'), html`<${Copy} text=${host} shown />`],
		[t('smtp.ports'), ports],
		[t('smtp.user'), html`<${Copy} text=${of.user} shown /> <span class="muted">${t('smtp.anyUser')}</span>`],
		[t('smtp.password'), html`${t('smtp.key')} <a class="link" href=${`${base}/keys`}>${t('smtp.keys')}</a>`],
		[t('smtp.from'), domain ? html`${t('smtp.fromDomain')} <span class="mono">${domain.name}</span>` : html`<a class="link" href=${`${base}/domains`}>${t('smtp.noDomain')}</a>`],
		[t('smtp.size'), size(of.size)],
	]} />${at.tls === 'none' && !at.local && html`<${Notice} kind="warn">${t('smtp.clear')}<//>`}<//>
	<${Section} title=${t('smtp.how')}><${Code} name=${t('smtp.program')} tabs=${programs} at=${program} onTab=${setProgram} code=${settings(program, { host, port: at.port, user: of.user, tls: at.tls }, `hello@${domain?.name ?? 'example.com'}`)} /><p class="t12 muted">${t('smtp.keptOut')}</p><//></div>`;
}

function Off() {
	return html`<${Empty} icon="key" title=${t('smtp.none')} act=${html`<${Button} kind="primary" href=${`${base}/keys`}>${t('smtp.keys')}<//><${Button} href="/manual/smtp">${t('ui.manual')}<//>`}>${t('smtp.noneText')}<//>
	<div class="page page--text">${me.value.operator ? html`<${Section} title=${t('smtp.turnOn')}><div class="stack stack--2"><p class="prose">${t('smtp.turnOnText')}</p><${Code} name="mailer serve" code=${'--smtp-listen :587 --smtp-listen :465'} /></div><//>` : html`<p class="muted">${t('smtp.askOperator')}</p>`}
	<${Section} title=${t('smtp.api')}><${Facts} pairs=${[[t('smtp.address'), html`<${Copy} text=${`${location.origin}/emails`} />`], [t('smtp.header'), html`<code>Authorization: Bearer …</code>`]]} /><//></div>`;
}
