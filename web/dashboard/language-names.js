// Names of languages in the reader's.
import { language as reader } from './i18n.js';

/** The name of a language in the reader's. @param {string} tag */
export function languageName(tag) {
	try {
		return new Intl.DisplayNames([reader.value], { type: 'language' }).of(tag) ?? tag;
	} catch { // no language tag
		return tag;
	}
}
