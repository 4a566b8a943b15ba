// One opt-in: what became of it, what was asked for, and the record of consent.
import { html } from './lib/core.js';
import { useGet, useList } from './api.js';
import { Consent } from './consents.js';
import { clock } from './format.js';
import { t } from './i18n.js';
import { OptInState } from './opt-ins.js';
import { encoded } from './paths.js';
import { href } from './router.js';
import { Bones, Button, Facts, Failed, Head, Id, Section, Time, Verdict } from './ui/base.js';

const kinds = { pending: '', confirmed: 'good', expired: '', refused: 'warn' };
const icons = { pending: 'st-scheduled', confirmed: 'check', expired: 'minus', refused: 'st-canceled' };

/** The page. @param {{params: {id: string}}} props */
export default function OptIn({ params }) {
	const { data: of, error, reload } = useGet(encoded`/opt-ins/${params.id}`);
	const form = useGet(of?.form ? encoded`/forms/${of.form}` : null).data;
	const names = new Map(useList('/topics', {}, { limit: 100 }).rows.map((row) => [row.id, row.name]));
	const segments = new Map(useList('/segments', {}, { limit: 100 }).rows.map((row) => [row.id, row.name]));
	const path = [[t('forms.title'), href('/forms')], [t('optIns.title'), href('/opt-ins')]];
	if (error && !of) return html`<${Head} title=${t('optIns.one')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!of) return html`<${Head} title="" text=${t('optIns.one')} path=${path} /><${Bones} />`;
	const list = (ids, known) => ids.map((/** @type {string} */ id) => known.get(id) ?? t('optIns.deleted')).join(', ');
	const when = of.decided_at ? clock(of.decided_at) : '';
	return html`<${Head} title=${html`<bdi>${of.email}</bdi>`} text=${of.email} path=${path}>${of.contact_id && html`<${Button} icon="user" href=${href(encoded`/contacts/${of.contact_id}`)}>${t('optIns.contact')}<//>`}<//>
	<${Verdict} kind=${kinds[of.status]} icon=${icons[of.status]} line=${t(`optIns.line_${of.status}`, { email: of.email, when })} fix=${t(`optIns.fix_${of.status}`)} />
	<div class="page"><${Section} title=${t('optIns.asked')}><${Facts} class="kv--rows" pairs=${[
		[t('optIns.state'), html`<${OptInState} of=${of.status} />`],
		[t('forms.one'), of.form ? (form ? html`<a class="link" href=${href(encoded`/forms/${form.id}`)}><bdi>${form.name}</bdi></a>` : t('optIns.deleted')) : 'API'],
		[t('optIns.requested'), html`<${Time} at=${of.requested_at} as="both" />`],
		[t('topics.title'), of.topics.length > 0 && html`<bdi>${list(of.topics, names)}</bdi>`],
		[t('segments.title'), of.segments.length > 0 && html`<bdi>${list(of.segments, segments)}</bdi>`],
		[t('contacts.name'), html`<bdi>${[of.first_name, of.last_name].filter(Boolean).join(' ')}</bdi>`],
		...Object.entries(of.properties ?? {}).map(([key, value]) => [html`<span class="mono">${key}</span>`, html`<bdi>${String(value)}</bdi>`]),
		[t('contact.id'), html`<${Id} of=${of.id} />`],
	].filter(([, value]) => value !== false)} /><//>
	${of.consent && html`<${Section} title=${t('consents.record')}><${Consent} of=${of.consent} /><//>`}</div>`;
}
