// The links between broadcasts and the feeds that they are made from.
import { html } from './lib/core.js';
import { t } from './i18n.js';
import { base } from './router.js';
import { Sections } from './ui/base.js';

/** @param {{at: 'broadcasts'|'feeds'}} props */
export const BroadcastSections = ({ at }) => html`<${Sections} label=${t('broadcasts.title')} at=${`${base}/${at}`} links=${['broadcasts', 'feeds'].map((page) => [t(`${page}.title`), `${base}/${page}`])} />`;
