// The links between templates, saved blocks and images.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Sections } from './ui/base.js';

/** @param {{at: 'templates'|'blocks'|'images'}} props */
export const TemplateSections = ({ at }) => html`<${Sections} label=${t('templates.title')} at=${`${base}/${at}`} links=${['templates', 'blocks', 'images'].map((page) => [t(`${page}.title`), `${base}/${page}`])} />`;
