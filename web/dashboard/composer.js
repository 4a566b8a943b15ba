// The composer: a broadcast's editor next to its preview.
import { html, useEffect, useMemo, useRef, useState } from './lib/core.js';
import { useGet, useList } from './api.js';
import { Checks, testMail } from './composer-checks.js';
import { Files } from './composer-files.js';
import { Versions } from './composer-versions.js';
import { Convert } from './convert.js';
import { Left, Saved, useDraft } from './drafts.js';
import { t } from './i18n.js';
import { InsertImage, insertFiles, Weight } from './image-library.js';
import { languageName } from './language-names.js';
import { addLanguage, inLanguage, Languages, languagesOf } from './languages.js';
import { looksLikeMJML, MJML } from './mjml.js';
import { base, go } from './router.js';
import { mjmlDesign } from './starters.js';
import { Bones, Button, Check, Failed, Head, Icon, Seg, Select } from './ui/base.js';
import { CodeEditor, Refusal } from './ui/code-editor.js';
import { nameOf, useCount } from './ui/audience.js';
import { Menu } from './ui/float.js';
import { Paper } from './ui/frame.js';
import { builtIn, findings } from './variables.js';
import { variantsOf } from './variants.js';
import { Variables } from './composer-variables.js';
import { encoded } from './paths.js';
import { byHand, isMJML, partOf, parts, Visual, Warning } from './visual.js';

/** The page. @param {{params: {id: string}}} props */
export default function Composer({ params }) {
	const { data, error, reload } = useGet(encoded`/broadcasts/${params.id}`);
	const path = [[t('broadcasts.title'), `${base}/broadcasts`]];
	useEffect(() => {
		if (data && data.status !== 'draft') go(encoded`/broadcasts/${params.id}/report`, { replace: true });
	}, [data?.status]);
	if (error && !data) return html`<${Head} title=${t('composer.title')} path=${path} /><${Failed} error=${error} retry=${reload} />`;
	if (!data) return html`<${Head} title=${t('composer.title')} path=${path} /><${Bones} />`;
	if (data.status !== 'draft') return null;
	return html`<${Draft} key=${data.id} of=${data} path=${path} />`;
}

const cleared = ['preview_text', 'html', 'design', 'segment_id', 'topic_id'];

/** The parts that each language should have. */
const translated = ['subject', 'preview_text', 'html'];

/** The PATCH of a draft: required members are sent once they are not empty. @param {any} changed @param {any} value @param {any} base what the server has */
function body(changed, value, base) {
	// Another html without a design would drop the design.
	const out = { ...changed, ...('html' in changed && value.design ? { design: value.design } : {}) };
	if (out.variants) out.variants = variantsOf(out.variants, base.variants, ['subject', 'preview_text', 'html', 'text', 'design']);
	for (const name of cleared) if (out[name] === '') out[name] = null;
	for (const name of ['from', 'subject', 'name']) if (name in out && !out[name].trim()) delete out[name];
	return out;
}

function Draft({ of, path }) {
	const draft = useDraft({ id: of.id, path: encoded`/broadcasts/${of.id}`, server: of, revision: (answer) => answer.revision, body });
	const { value } = draft;
	const [chosen, setAt] = useState('');
	const at = value.variants?.[chosen] ? chosen : '';
	const mine = inLanguage(draft, at);
	const [side, setSide] = useState('preview');
	const review = async () => {
		if (await draft.save()) go(encoded`/broadcasts/${of.id}/review`);
	};
	useEffect(() => {
		const keys = (/** @type {any} */ e) => {
			if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === 's') {
				e.preventDefault();
				draft.save();
			}
		};
		addEventListener('keydown', keys);
		return () => removeEventListener('keydown', keys);
	}, []);
	return html`<${Head} title=${value.name} path=${path} note=${html`<${Saved} draft=${draft} />`}>
		<${Menu} label=${t('ui.acts')} items=${[
			{ icon: 'globe', name: t('languages.add'), run: () => addLanguage(draft, setAt) },
			{ icon: 'gauge', name: t('composer.checks'), run: () => setSide('checks') },
			{ icon: 'history', name: t('composer.versions'), run: () => setSide('versions') },
		]} />
		<${Button} icon="mail" onClick=${async () => (await draft.save()) && testMail(encoded`/broadcasts/${of.id}/test`, at)}>${t('composer.test')}<//>
		<${Button} kind="primary" onClick=${review}>${t('composer.review')}<//><//>
	<${Left} draft=${draft} />
	<${Languages} draft=${draft} at=${at} names=${translated} onChange=${setAt} />
	<${Meta} draft=${draft} mine=${mine} />
	<div class="bench"><${Writing} draft=${mine} whole=${draft} setAt=${setAt} onVersions=${() => setSide(side === 'versions' ? 'preview' : 'versions')} side=${side} />
	${side === 'preview' ? html`<${Reading} draft=${draft} at=${at} />` : side === 'checks' ? html`<${Checks} draft=${draft} close=${() => setSide('preview')} />` : html`<${Versions} draft=${draft} fields=${['subject', 'preview_text', 'html', 'text']} close=${() => setSide('preview')} />`}</div>`;
}

function Meta({ draft, mine }) {
	const { value } = mine;
	const varies = (name) => mine.language && translated.includes(name);
	const line = (name, { needed = false, hint = '', note = '' }) => html`<dt><label for=${`c-${name}`}>${t(`composer.${name}`)}</label></dt><dd><input class="input" id=${`c-${name}`} value=${value[name] ?? ''} aria-invalid=${needed && !varies(name) && !value[name]?.trim() ? 'true' : undefined} onInput=${(e) => mine.change({ [name]: e.currentTarget.value || (varies(name) ? null : '') })} placeholder=${varies(name) ? draft.value[name] : hint} />
		${needed && !varies(name) && !value[name]?.trim() ? html`<span class="note bad" role="alert">${t('composer.needed')}</span>` : note && html`<span class="note hide-s">${note}</span>`}</dd>`;
	return html`<dl class="meta">${line('name', { needed: true })}${line('from', { needed: true })}
	${line('subject', { needed: true, note: t('composer.characters', { n: [...(value.subject ?? '')].length }) })}${line('preview_text', { hint: t('composer.previewHint') })}
	<dt>${t('composer.audience')}</dt><dd><${Audience} draft=${draft} /></dd>
	<dt>${t('email.tabs.attachments')}</dt><dd><${Files} draft=${draft} /></dd></dl>`;
}

/** The audience: a segment with its size, and a topic. */
function Audience({ draft }) {
	const { value } = draft;
	const segments = useList('/segments', {}, { limit: 100 });
	const topics = useList('/topics', {}, { limit: 100 });
	const topic = topics.rows.find((row) => row.id === value.topic_id);
	const segment = useGet(value.segment_id ? encoded`/segments/${value.segment_id}` : null).data;
	const reached = useCount(value.segment_id ? { segment_id: value.segment_id, topic_id: value.topic_id || undefined } : { filter: { match: 'all', conditions: [] }, topic_id: value.topic_id || undefined });
	const options = (list, id, first) => [['', first], ...list.rows.map((row) => [row.id, row.name]), ...(id && !list.rows.some((row) => row.id === id) ? [[id, segment?.id === id ? segment.name : '…']] : [])];
	return html`<span class="row row--wrap"><${Select} bare label=${t('composer.segment')} value=${value.segment_id ?? ''} onChange=${(id) => draft.change({ segment_id: id })} options=${options(segments, value.segment_id, t('composer.everybody'))} />
	<${Select} bare label=${t('composer.topic')} value=${value.topic_id ?? ''} onChange=${(id) => draft.change({ topic_id: id })} options=${options(topics, value.topic_id, t('composer.noTopic'))} />
	${topic?.archive && html`<${Check} label=${t('archive.include')} checked=${value.archive ?? !value.segment_id} onChange=${(archive) => draft.change({ archive })} />`}
	${reached && html`<span class=${reached.count ? 'muted' : 'warn'}>${t('composer.people', { n: reached.count })}</span>`}</span>`;
}

/** The link to the mail in a browser; templates declare it. */
const viewKey = 'VIEW_URL';

/** The variables of a broadcast: built-in names and the team's properties. */
export function useKnown() {
	const { rows } = useList('/contact-properties', {}, { limit: 100 });
	return useMemo(() => ({
		names: [...builtIn, viewKey, ...rows.flatMap((p) => [p.key, `contact.${p.key}`])],
		known: [...[...builtIn, viewKey].map((name) => ({ name, type: 'string' })), ...rows.map((p) => ({ name: `contact.${p.key}`, type: p.type, detail: p.fallback_value === null ? '' : t('editor.else', { text: p.fallback_value }) }))],
		fallbacks: Object.fromEntries(rows.flatMap((p) => [[p.key, p.fallback_value], [`contact.${p.key}`, p.fallback_value]])),
	}), [rows]);
}

/** @param {{draft: any, whole: any, setAt: (language: string) => void, onVersions: () => void, side: string}} props draft in one language */
function Writing({ draft, whole, setAt, onVersions, side }) {
	const { value } = draft;
	const [chosen, setPart] = useState(/** @type {string|null} */ (null));
	const part = partOf(value, chosen);
	const editor = useRef(/** @type {any} */ (null));
	const { names, known, fallbacks } = useKnown();
	return html`<section aria-label=${part === 'visual' ? t('visual.title') : t(`composer.${part}`)}><div class="bench-head"><${Seg} label=${t('composer.part')} value=${part} onChange=${setPart} options=${parts(value)} />${part === 'html' && html`<${InsertImage} editor=${editor} />`}
		<${Button} kind="quiet" icon="history" class="push" aria-pressed=${String(side === 'versions')} onClick=${onVersions}>${t('composer.versions')}<//></div>
	<${Part} draft=${draft} part=${part} setPart=${setPart} editor=${editor} known=${known} liquid=${known.filter(({ name }) => name.startsWith('contact.'))} names=${names} unsubscribe />
	<${Refused} draft=${whole} at=${draft.language} part=${part} editor=${editor} show=${(place) => {
		setAt(place.language);
		setPart(place.field === 'text' ? 'text' : 'html');
	}} />
	<${Weight} value=${value} /><${Convert} draft=${whole} />
	${part === 'text' && value.text === null ? null : html`<${Variables} texts=${[value.subject, value.preview_text, value.html, value.text]} fallbacks=${fallbacks} segment=${value.segment_id} liquid=${value.syntax === 'liquid'} />`}</section>`;
}

/**
 * The editor of one part of a draft: the visual one, MJML, HTML or text.
 * @param {{draft: any, part: string, setPart: (part: string) => void, editor: any, known: any[], liquid: any[], names: string[], kind?: 'property'|'variable',
 * mended?: boolean, unsubscribe?: boolean}} props draft in one language; liquid are the names that Liquid knows; mended: only findings that can be mended are shown below
 */
export function Part({ draft, part, setPart, editor, known, liquid, names, kind = 'property', mended = false, unsubscribe = false }) {
	const { value, language } = draft;
	const text = value[part] ?? '';
	const find = useMemo(() => (now) => findings(now, names, kind), [names]);
	const mend = useMemo(() => (now) => find(now).filter((f) => !mended || f.fix || f.broken), [find]);
	const isLiquid = value.syntax === 'liquid';
	const refused = draft.refused?.place?.field === part && draft.refused.place.language === language ? draft.refused : null;
	if (part === 'visual') return isMJML(value.design) ? html`<${MJML} draft=${draft} known=${known} completions=${isLiquid ? liquid : []} />` : html`<${Visual} draft=${draft} known=${isLiquid ? liquid : known} unsubscribe=${unsubscribe} />`;
	if (part === 'text' && value.text === null) return html`<div class="empty"><${Icon} name="list" /><h3>${t(language ? 'languages.textMade' : 'composer.textMade')}</h3><p>${t('composer.textMadeText')}</p><div class="row"><${Button} icon="edit" onClick=${() => draft.change({ text: '' })}>${t('composer.textOwn')}<//></div></div>`;
	return html`<${CodeEditor} key=${`${part} ${language}`} kind=${part} text=${text} stamp=${draft.stamp} label=${t(`composer.${part}`)} known=${known} completions=${isLiquid ? liquid : []} findings=${find} refused=${refused} handle=${editor} onImages=${part === 'html' ? (files) => insertFiles(editor.current, files) : undefined} onChange=${(now) => (part === 'html' ? byHand(draft, now, () => setPart('visual')) : draft.change({ text: now }))} />
	${part === 'html' && html`<${Warning} value=${value} />`}
	${part === 'html' && looksLikeMJML(text) && html`<div class="vars"><span>${t('mjml.found')}</span><${Button} class="push" onClick=${() => {
		draft.change({ design: mjmlDesign(text), html: text });
		setPart('visual');
	}}>${t('mjml.convert')}<//></div>`}
	${part === 'text' && html`<div class="vars"><span>${t('composer.textIs')}</span><${Button} class="push" onClick=${() => draft.change({ text: null })}>${t('composer.textRemake')}<//></div>`}
	<${Lint} text=${text} find=${mend} editor=${editor} />`;
}

/**
 * What the server refused to save, and the way there. @param {{draft: any, at: string, part: string, editor: any, show: (place: any) => void}} props draft is the whole one; at
 * is the language that is shown
 */
export function Refused({ draft, at, part, editor, show }) {
	const { refused } = draft;
	if (!refused) return null;
	const { place } = refused;
	return html`<${Refusal} of=${refused} editor=${editor} here=${place?.language === at && place.field === part} show=${['html', 'text'].includes(place?.field) ? () => show(place) : undefined} />`;
}

/** The first thing that is wrong with the variables, and its mending. @param {{text: string, find: (text: string) => any[], editor: any}} props */
export function Lint({ text, find, editor }) {
	const wrong = useMemo(() => find(text.replace(/\r\n?/g, '\n')), [text, find]);
	const first = wrong[0];
	if (!first) return null;
	return html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${first.message}${wrong.length > 1 ? ` ${t('editor.others', { n: wrong.length - 1 })}` : ''}</span></span>${first.fix && html`<${Button} class="push" onClick=${() => editor.current?.replace(first.from, first.to, first.fix)}>${t('editor.replace')}<//>`}</div>`;
}

function Reading({ draft, at }) {
	const { value } = draft;
	const [contact, setContact] = useState('');
	const [answer, setAnswer] = useState(/** @type {any} */ (null));
	const { rows } = useList(value.segment_id ? encoded`/segments/${value.segment_id}/contacts` : '/contacts', {}, { limit: 20 });
	// Without a contact the default tab shows the default.
	const shown = at || (!contact && languagesOf(value).length ? 'und' : '');
	const names = rows.map((c) => [c.id, nameOf(c) ? `${nameOf(c)} <${c.email}>` : c.email]);
	return html`<${Paper} bench of=${encoded`/broadcasts/${value.id}/preview`} body=${{ ...(contact ? { contact } : {}), ...(shown ? { language: shown } : {}) }} stamp=${`${contact} ${shown} ${draft.saved}`} onAnswer=${setAnswer}
		lead=${html`<span class="muted hide-s">${t('composer.as')}</span><${Select} bare label=${t('composer.previewAs')} value=${contact} onChange=${setContact} options=${[['', at ? t('languages.somebody', { language: languageName(at) }) : t('composer.somebody')], ...names]} />`} foot=${html`${answer?.language && !at && html`<div class="vars"><span>${t('languages.shown', { language: languageName(answer.language) })}</span></div>`}${answer?.missing?.length ? html`<div class="vars"><span class="warn row"><${Icon} name="alert" /><span>${t('composer.missing', { n: answer.missing.length, names: answer.missing.join(', ') })}</span></span></div>` : null}`} />`;
}

