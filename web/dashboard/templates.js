// The gallery of templates: a preview of each, and whether sends can use it.
import { html, useEffect, useRef, useState } from './lib/core.js';
import { api, ApiError, useList } from './api.js';
import { t } from './i18n.js';
import { encoded } from './paths.js';
import { base, go } from './router.js';
import { TemplateSections } from './template-sections.js';
import { standIns } from './template-variables.js';
import { Bones, Button, Copy, Empty, Failed, Head, Icon, Input, Status, Time } from './ui/base.js';
import { attempt, confirm, dialog, DialogBody, Menu } from './ui/float.js';
import { Csv, Foot } from './ui/list.js';
import { designOf, hasDesign, Start, variablesOf } from './starters.js';

/** Copies a template and opens the copy. @param {string} id */
export const duplicateTemplate = (id) => attempt(async () => {
	const made = await api.post(encoded`/templates/${id}/duplicate`);
	go(encoded`/templates/${made.id}`);
}, t('templates.duplicated'));

/** Deletes a template, after asking. Resolves to whether it went. @param {any} row */
export async function removeTemplate(row) {
	if (!(await confirm({ title: t('templates.deleteTitle', { name: row.name }), text: t('templates.deleteText'), act: t('templates.delete') }))) return false;
	return (await attempt(() => api.del(encoded`/templates/${row.id}`), t('templates.deleted', { name: row.name }))) !== undefined;
}

/** The page. */
export default function Templates() {
	const list = useList('/templates');
	const make = html`<${Button} kind="primary" icon="plus" onClick=${() => void dialog((close) => html`<${New} close=${close} />`)}>${t('templates.new')}<//>`;
	const remove = async (row) => {
		if (await removeTemplate(row)) list.reload();
	};
	return html`<${Head} title=${t('templates.title')}><${Csv} path="/templates" name="templates" />${make}<//><${TemplateSections} at="templates" />
	${list.error && !list.rows.length ? html`<${Failed} error=${list.error} retry=${list.reload} />` : list.loading ? html`<${Bones} />` : !list.rows.length ? html`<${Empty} icon="template" title=${t('templates.none')} act=${make}>${t('templates.noneText')}<//>`
	: html`<ul class="gallery">${list.rows.map((row) => html`<li key=${row.id}><${Thumb} of=${row} /><div class="gallery-text"><a class="cut medium" href=${base + encoded`/templates/${row.id}`} title=${row.name}><bdi>${row.name}</bdi></a><${Menu} kind="quiet" label=${t('templates.actsOf', { name: row.name })} items=${[
		{ icon: 'edit', name: t('templates.edit'), href: base + encoded`/templates/${row.id}` },
		{ icon: 'copy', name: t('templates.duplicate'), run: () => duplicateTemplate(row.id) },
		{ icon: 'trash', name: t('templates.delete'), danger: true, run: () => remove(row) },
	]} /></div><div class="gallery-note"><${Status} of=${row.status} /><span class="muted"><${Time} at=${row.updated_at} /></span></div>${row.alias && html`<div class="gallery-note"><${Copy} text=${row.alias} /></div>`}</li>`)}</ul><${Foot} list=${list} />`}`;
}

/** The preview of a template, loaded when it becomes visible. */
function Thumb({ of }) {
	const box = useRef(/** @type {any} */ (null));
	const [shown, show] = useState(/** @type {any} */ ({}));
	useEffect(() => {
		let current = true;
		const eye = new IntersectionObserver(([entry]) => {
			if (!entry.isIntersecting) return;
			eye.disconnect();
			api.get(encoded`/templates/${of.id}`).then((whole) => api.read(encoded`/templates/${of.id}/render`, { variables: standIns(whole.variables) })).then((answer) => current && show(answer), (error) => {
				if (!(error instanceof ApiError)) throw error;
				if (current) show({ error });
			});
		});
		eye.observe(box.current);
		return () => {
			current = false;
			eye.disconnect();
		};
	}, [of.id, of.updated_at]);
	return html`<a class="thumb" ref=${box} href=${base + encoded`/templates/${of.id}`} tabindex="-1" aria-hidden="true">${shown.url ? html`<iframe sandbox="" src=${shown.url} tabindex="-1" title=${t('templates.thumb', { name: of.name })}></iframe>` : html`<span class="thumb-none"><${Icon} name="template" />${shown.error && t('templates.noPreview')}</span>`}</a>`;
}

const beginning = '<!doctype html>\n<html lang="en">\n<body>\n<p>Hello {{{NAME}}},</p>\n<p></p>\n</body>\n</html>\n';

function New({ close }) {
	const [name, setName] = useState('');
	const [alias, setAlias] = useState(/** @type {string|null} */ (null));
	const [start, setStart] = useState('announcement');
	const [wrong, setWrong] = useState('');
	const shown = alias ?? name.toLowerCase().normalize('NFKD').replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60);
	const make = async () => {
		try {
			const made = await api.post('/templates', { name: name.trim(), syntax: 'liquid', subject: name.trim(), html: beginning, ...(hasDesign(start) ? { design: designOf(start, { broadcast: false }) } : {}), variables: variablesOf(start), ...(shown ? { alias: shown } : {}) });
			close();
			go(encoded`/templates/${made.id}`);
		} catch (e) {
			if (!(e instanceof ApiError)) throw e;
			setWrong(e.message);
		}
	};
	return html`<${DialogBody} title=${t('templates.new')} onSubmit=${make} acts=${html`<${Button} onClick=${() => close()}>${t('ui.cancel')}<//><${Button} type="submit" kind="primary" disabled=${!name.trim()}>${t('templates.create')}<//>`}>
		<${Input} label=${t('templates.name')} value=${name} onInput=${setName} autofocus maxlength="255" />
		<${Input} label=${t('templates.alias')} hint=${t('templates.aliasHint')} mono value=${shown} onInput=${setAlias} error=${wrong} />
		<${Start} value=${start} onChange=${setStart} options=${['announcement', 'digest', 'receipt', 'blank', 'mjml', 'html']} /><//>`;
}
