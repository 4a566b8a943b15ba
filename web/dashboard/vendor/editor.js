export { EditorState, Compartment, StateField, StateEffect, RangeSet, RangeValue, Prec } from '@codemirror/state';
export { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightActiveLineGutter, MatchDecorator, ViewPlugin, Decoration } from '@codemirror/view';
export { defaultKeymap, history, historyKeymap, indentWithTab, invertedEffects } from '@codemirror/commands';
export { html, htmlLanguage } from '@codemirror/lang-html';
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
export { linter, lintKeymap, forceLinting } from '@codemirror/lint';
export { syntaxHighlighting, HighlightStyle, bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
export { search, searchKeymap, highlightSelectionMatches } from '@codemirror/search';
export { tags } from '@lezer/highlight';
