// One template: its editor next to a preview, publishing, and calls.
import { html, useEffect, useMemo, useRef, useState } from './lib/core.js';
import { api, ApiError, useGet } from './api.js';
import { Part, Refused } from './composer.js';
import { Versions } from './composer-versions.js';
import { Convert } from './convert.js';
import { Left, Saved, useDraft } from './drafts.js';
import { t } from './i18n.js';
import { InsertImage, Weight } from './image-library.js';
import { addLanguage, inLanguage, Languages } from './languages.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { me } from './state.js';
import { Call } from './template-call.js';
import { standIns, Variables } from './template-variables.js';
import { duplicateTemplate, removeTemplate } from './templates.js';
import { Bones, Button, Failed, Head, Input, Seg, Status } from './ui/base.js';
import { attempt, dialog, DialogBody, Menu, toast } from './ui/float.js';
import { Paper } from './ui/frame.js';
import { keepTestData, testData, withMembers } from './test-data.js';
import { builtIn } from './variables.js';
import { variantsOf } from './variants.js';
import { partOf, parts } from './visual.js';

/** The page. @param {{params: {id: string}}} props */
export default function TemplatePage({ params }) {
	const { data, error, reload } = useGet(encoded`/templates/${params.id}`);
	const path = [[t('templates.title'), `${base}/templates`]];
	if (error && !data) return html`<${Head} title=${t('template.title')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!data) return html`<${Head} title=${t('template.title')} path=${path} /><${Bones} />`;
	return html`<${Draft} key=${data.id} of=${data} path=${path} />`;
}

/** The parts that each language should have. */
const translated = ['subject', 'html'];

/** The PATCH of a draft: required members are sent once they are not empty. @param {any} changed @param {any} value @param {any} base what the server has */
function body(changed, value, base) {
	// Another html without a design would drop the design.
	const out = { ...changed, ...('html' in changed && value.design ? { design: value.design } : {}) };
	if (out.variants) out.variants = variantsOf(out.variants, base.variants, ['subject', 'html', 'text', 'design']);
	for (const name of ['alias', 'from', 'subject', 'design']) if (out[name] === '') out[name] = null;
	for (const name of ['html', 'name']) if (name in out && !out[name].trim()) delete out[name];
	if (out.variables) out.variables = out.variables.filter((v) => v.key).map(({ key, type, fallback_value: fallback }) => ({ key, type, ...(fallback === null || fallback === undefined || fallback === '' ? {} : { fallback_value: type === 'number' ? Number(fallback) : String(fallback) }) }));
	if (out.variables?.length === 0) out.variables = null;
	return out;
}

function Draft({ of, path }) {
	const draft = useDraft({ id: of.id, path: encoded`/templates/${of.id}`, server: of, revision: (answer) => answer.current_version_id, body });
	const { value } = draft;
	const [side, setSide] = useState('preview');
	const [chosen, setAt] = useState('');
	const at = value.variants?.[chosen] ? chosen : '';
	const mine = inLanguage(draft, at);
	const [values, put] = useState(() => testData(of.id));
	const setValues = (now) => {
		put(now);
		keepTestData(of.id, now);
	};
	const [state, setState] = useState({ status: of.status, unpublished: of.has_unpublished_versions });
	useEffect(() => {
		if (draft.answer) setState({ status: draft.answer.status, unpublished: draft.answer.has_unpublished_versions });
	}, [draft.answer]);
	const typed = useMemo(() => standIns(value.variables ?? [], values), [value.variables, values]);
	// The server knows the variables that are saved.
	const asked = useRef(/** @type {any} */ ({}));
	if (!draft.unsaved) asked.current = { variables: typed, ...(at ? { language: at } : {}) };
	const publish = () => attempt(async () => {
		if (!(await draft.save())) return;
		const answer = await api.post(encoded`/templates/${of.id}/publish`);
		setState({ status: answer.status, unpublished: answer.has_unpublished_versions });
		toast(t('template.publishedText'));
	});
	const clean = state.status === 'published' && !state.unpublished && !draft.unsaved;
	return html`<${Head} title=${value.name} path=${path} note=${html`<${Status} of=${state.status} word=${state.status === 'published' && !clean ? t('template.unpublished') : undefined} /><${Saved} draft=${draft} />`}>
		<${Menu} label=${t('ui.acts')} items=${[
			{ icon: 'globe', name: t('languages.add'), run: () => addLanguage(draft, setAt) },
			{ icon: 'code', name: t('template.call'), run: () => setSide('call') },
			{ icon: 'history', name: t('composer.versions'), run: () => setSide('versions') },
			{ icon: 'copy', name: t('template.duplicate'), run: () => duplicateTemplate(of.id) },
			{ icon: 'trash', name: t('template.delete'), danger: true, run: async () => (await removeTemplate(value)) && go('/templates', { replace: true }) },
		]} />
		<${Button} icon="mail" onClick=${async () => (await draft.save()) && dialog((close) => html`<${Test} of=${value} language=${at} values=${typed} close=${close} />`)}>${t('template.test')}<//>
		<${Button} kind="primary" disabled=${clean} onClick=${publish}>${t(clean ? 'template.published' : 'template.publish')}<//><//>
	<${Left} draft=${draft} />
	<${Languages} draft=${draft} at=${at} names=${translated} onChange=${setAt} />
	<${Meta} draft=${draft} mine=${mine} />
	<div class="bench"><${Writing} draft=${mine} whole=${draft} setAt=${setAt} values=${values} setValues=${setValues} side=${side} setSide=${setSide} />
	${side === 'versions' ? html`<${Versions} draft=${draft} fields=${['subject', 'html', 'text']} close=${() => setSide('preview')} />` : side === 'call' ? html`<${Call} of=${value} published=${state.status === 'published'} values=${typed} close=${() => setSide('preview')} />`
		: html`<${Paper} bench of=${encoded`/templates/${of.id}/render`} body=${asked.current} stamp=${`${draft.saved} ${JSON.stringify(asked.current)}`} />`}</div>`;
}

function Meta({ draft, mine }) {
	const { value } = mine;
	const varies = (name) => mine.language && translated.includes(name);
	const line = (name, more = {}) => html`<dt><label for=${`t-${name}`}>${t(`template.${name}`)}</label></dt><dd><input class=${`input ${more.mono ? 'mono' : ''}`} id=${`t-${name}`} value=${value[name] ?? ''} aria-invalid=${more.needed && !value[name]?.trim() ? 'true' : undefined} placeholder=${(varies(name) && draft.value[name]) || more.hint} onInput=${(e) => mine.change({ [name]: e.currentTarget.value || (varies(name) ? null : '') })} />
		${more.needed && !value[name]?.trim() && html`<span class="note bad" role="alert">${t('composer.needed')}</span>`}</dd>`;
	return html`<dl class="meta">${line('name', { needed: true })}${line('alias', { mono: true, hint: t('templates.aliasHint') })}${line('from', { hint: t('template.optional') })}${line('subject', { hint: t('template.optional') })}</dl>`;
}

/** @param {{draft: any, whole: any, setAt: (language: string) => void, values: any, setValues: (values: any) => void, side: string, setSide: (side: string) => void}} props draft in one language */
function Writing({ draft, whole, setAt, values, setValues, side, setSide }) {
	const { value } = draft;
	const [chosen, setPart] = useState(/** @type {string|null} */ (null));
	const part = partOf(value, chosen);
	const editor = useRef(/** @type {any} */ (null));
	const names = useMemo(() => [...builtIn, ...(value.variables ?? []).map((v) => v.key)], [value.variables]);
	const declared = useMemo(() => withMembers(value.variables ?? [], values).map(({ fallback_value: fallback, ...v }) => ({ ...v, detail: fallback === null || fallback === undefined ? '' : t('editor.else', { text: fallback }) })), [value.variables, values]);
	const known = useMemo(() => [...declared.filter(({ name, type }) => !name.includes('.') && (type === 'string' || type === 'number')), ...builtIn.map((name) => ({ name, type: 'string' }))], [declared]);
	return html`<section aria-label=${part === 'visual' ? t('visual.title') : t(`composer.${part}`)}><div class="bench-head"><${Seg} label=${t('composer.part')} value=${part} onChange=${setPart} options=${parts(value)} />${part === 'html' && html`<${InsertImage} editor=${editor} />`}<span class="push"></span>
		<${Button} kind="quiet" icon="code" aria-pressed=${String(side === 'call')} onClick=${() => setSide(side === 'call' ? 'preview' : 'call')}>${t('template.call')}<//>
		<${Button} kind="quiet" icon="history" aria-pressed=${String(side === 'versions')} onClick=${() => setSide(side === 'versions' ? 'preview' : 'versions')}>${t('composer.versions')}<//></div>
	<${Part} draft=${draft} part=${part} setPart=${setPart} editor=${editor} known=${known} liquid=${declared} names=${names} kind="variable" mended />
	<${Refused} draft=${whole} at=${draft.language} part=${part} editor=${editor} show=${(place) => {
		setAt(place.language);
		setPart(place.field === 'text' ? 'text' : 'html');
	}} />
	<${Weight} value=${value} /><${Convert} draft=${whole} />
	<${Variables} draft=${draft} values=${values} setValues=${setValues} /></section>`;
}

/** Sends the draft, filled with the preview's values, as an ordinary email. */
function Test({ of, language, values, close }) {
	const [to, setTo] = useState(me.value?.email ?? '');
	const [from, setFrom] = useState(of.from ?? '');
	const [wrong, setWrong] = useState('');
	const send = async () => {
		try {
			const made = await api.read(encoded`/templates/${of.id}/render`, { variables: values, ...(language ? { language } : {}) });
			const sent = await api.post('/emails', { from, to: to.split(/[\s,;]+/).filter(Boolean), subject: made.subject ?? of.name, html: made.html, text: made.text });
			close();
			toast(t('composer.testSent', { n: 1 }), { href: base + encoded`/emails/${sent.id}`, word: t('composer.testSee') });
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('template.test')} onSubmit=${send} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!from.trim() || !to.trim()}>${t('template.testAct')}<//>`}>
		<${Input} label=${t('template.from')} value=${from} onInput=${setFrom} /><${Input} label=${t('template.testTo')} hint=${t('template.testHint')} value=${to} onInput=${setTo} error=${wrong} autofocus /><//>`;
}
