// What the pages of the audience have in common: their links on top of each.
import { html } from '../lib/core.js';
import { t } from '../i18n.js';
import { base } from '../router.js';
import { Sections } from './base.js';

/** The pages of the audience, in the order that they are shown in. */
const pages = ['contacts', 'segments', 'topics', 'properties', 'imports', 'suppressions'];

/** The links between the pages of the audience; at is the page, like "contacts". @param {{at: string}} props */
export const AudienceSections = ({ at }) => html`<${Sections} label=${t('audience.title')} at=${`${base}/${at}`} links=${pages.map((page) => [t(`audience.${page}`), `${base}/${page}`])} />`;
