import*as cm from"../lib/editor.js";var{EditorState,EditorView,StateEffect,StateField,RangeSet,RangeValue,Compartment}=cm,Break=class extends RangeValue{constructor(text){
super(),this.text=text,this.startSide=1,this.endSide=-1}eq(other){return other.text===this.text}},breaks=/\r\n?|\n/g;function usualBreak(text){let count={"\n":0,
"\r\n":0,"\r":0};for(let[found]of text.matchAll(breaks))count[found]++;return count[`\r
`]>count[`
`]?`\r
`:count["\r"]>count[`
`]?"\r":`
`}var relook=StateEffect.define(),putBack=StateEffect.define({map:(list,changes)=>list.map(([from,to,text])=>[changes.mapPos(from,1),changes.mapPos(to,-1),text])});
function endings(text){let usual=usualBreak(text),field=StateField.define({create:()=>{let list=[],shift=0;for(let found of text.matchAll(breaks)){let at=found.
index-shift;found[0]!==usual&&list.push(new Break(found[0]).range(at,at+1)),shift+=found[0].length-1}return RangeSet.of(list)},update:(set,tr)=>{let now=set.map(
tr.changes);for(let effect of tr.effects)effect.is(putBack)&&(now=now.update({add:effect.value.filter(([from,to])=>to===from+1).map(([from,to,was])=>new Break(was).
range(from,to)),sort:!0}));return now}}),undo=cm.invertedEffects.of(tr=>{let set=tr.startState.field(field);if(!tr.docChanged||!set.size)return[];let gone=[];return tr.
changes.iterChangedRanges((from,to)=>set.between(from,to,(a,b,value)=>{a>=from&&b<=to&&gone.push([a,b,value.text])})),gone.length?[putBack.of(gone)]:[]});return{
extension:[field,undo],read:state=>{let out="",at=0,doc=state.doc.toString(),plain=to=>usual===`
`?doc.slice(at,to):doc.slice(at,to).replaceAll(`
`,usual);for(let cursor=state.field(field).iter();cursor.value;cursor.next())out+=plain(cursor.from)+cursor.value.text,at=cursor.to;return out+plain(doc.length)}}}
var colours=cm.HighlightStyle.define([{tag:[cm.tags.comment,cm.tags.meta,cm.tags.documentMeta,cm.tags.processingInstruction],color:"var(--ink-3)"},{tag:[cm.tags.
tagName,cm.tags.angleBracket,cm.tags.keyword],color:"var(--ink)",fontWeight:"var(--strong)"},{tag:[cm.tags.attributeName,cm.tags.attributeValue,cm.tags.propertyName,
cm.tags.string,cm.tags.number,cm.tags.color],color:"var(--ink-2)"},{tag:[cm.tags.character,cm.tags.content],color:"var(--ink)"}]),look=EditorView.theme({"&":{height:"\
100%",color:"var(--ink)",backgroundColor:"var(--bg)",fontSize:"var(--text-12)"},"&.cm-focused":{outline:"2px solid var(--accent)",outlineOffset:"-2px"},".cm-scr\
oller":{fontFamily:"var(--mono)",lineHeight:"1.25rem",fontVariantLigatures:"none"},".cm-content":{padding:"var(--s3) 0",caretColor:"var(--accent)"},".cm-line":{
padding:"0 var(--s3) 0 0"},".cm-cursor":{borderLeft:"1.5px solid var(--accent)"},".cm-gutters":{backgroundColor:"var(--bg)",color:"var(--ink-3)",border:"0"},".c\
m-lineNumbers .cm-gutterElement":{minWidth:"48px",padding:"0 var(--s4) 0 var(--s2)"},".cm-activeLine, .cm-activeLineGutter":{backgroundColor:"color-mix(in srgb,\
 var(--bg-hover) 60%, transparent)"},".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground":{backgroundColor:"var(-\
-accent-soft)"},".cm-selectionMatch, .cm-searchMatch":{backgroundColor:"var(--warn-soft)"},".cm-searchMatch-selected":{outline:"1px solid var(--warn)"},".cm-mat\
chingBracket, &.cm-focused .cm-matchingBracket":{backgroundColor:"var(--bg-active)"},".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket":{backgroundColor:"\
transparent",color:"inherit"},".cm-variable, .cm-variable span":{color:"var(--accent)",backgroundColor:"var(--accent-soft)",borderRadius:"2px"},".cm-lintRange-w\
arning, .cm-lintRange-error":{backgroundImage:"none",textDecoration:"underline wavy var(--bad) 1px",textUnderlineOffset:"3px"},".cm-tooltip":{backgroundColor:"v\
ar(--bg-raised)",border:"0",borderRadius:"var(--radius-2)",boxShadow:"var(--float)",color:"var(--ink)",fontFamily:"var(--font)"},".cm-tooltip.cm-tooltip-autocom\
plete > ul":{fontFamily:"var(--mono)",maxHeight:"240px"},".cm-tooltip.cm-tooltip-autocomplete > ul > li":{padding:"4px var(--s2)"},".cm-tooltip-autocomplete ul \
li[aria-selected]":{backgroundColor:"var(--bg-active)",color:"var(--ink)"},".cm-completionDetail":{color:"var(--ink-3)",fontStyle:"normal",fontFamily:"var(--fon\
t)"},".cm-completionIcon":{display:"none"},".cm-completionMatchedText":{textDecoration:"none",color:"var(--accent)"},".cm-diagnostic":{borderLeft:"0",padding:"v\
ar(--s2) var(--s3)"},".cm-panels":{backgroundColor:"var(--bg-sunk)",color:"var(--ink)",borderColor:"var(--line)",fontFamily:"var(--font)"},".cm-panel.cm-search":{
padding:"var(--s2) var(--s3)"},".cm-textfield":{backgroundColor:"var(--bg)",border:"1px solid var(--line-input)",borderRadius:"var(--radius-1)",minHeight:"28px"},
".cm-button":{backgroundImage:"none",backgroundColor:"var(--bg)",border:"1px solid var(--line-strong)",borderRadius:"var(--radius-1)",minHeight:"28px",color:"va\
r(--ink)"}}),variables=new cm.MatchDecorator({regexp:/\{\{\{[^{}]*\}\}\}/g,decoration:cm.Decoration.mark({class:"cm-variable"})}),marked=cm.ViewPlugin.fromClass(
class{constructor(view){this.decorations=variables.createDeco(view)}update(update){this.decorations=variables.updateDeco(update,this.decorations)}},{decorations:plugin=>plugin.
decorations});function positionOf(doc,line,column){let of=doc.line(Math.min(Math.max(1,line),doc.lines));return Math.min(of.to,of.from+[...of.text].slice(0,column-
1).join("").length)}function wrongAt(doc,refused){if(!refused?.place)return[];let from=positionOf(doc,refused.place.line,refused.place.column),tag=/^\{\{[^]*?\}\}|^\{%[^]*?%\}/.
exec(doc.sliceString(from,from+500)),of=doc.lineAt(from);return[{from:tag||from<of.to?from:of.from,to:tag?from+tag[0].length:of.to,severity:"error",message:refused.
message}]}var completion=(known,completions)=>context=>{let before=context.matchBefore(/\{\{\{[\w.]*/);if(!before){let liquid=context.matchBefore(/(?:\{\{|\{%-?[^%{}\n]*\s)\s*[\w.]*$/),
found=liquid&&completions();return found?.length?{from:liquid.to-/[\w.]*$/.exec(liquid.text)[0].length,validFor:/^[\w.]*$/,options:found.map(({name,detail})=>({
label:name,detail,boost:50}))}:null}return{from:before.from+3,validFor:/^[\w.]*$/,options:known().map(({name,detail})=>({label:name,detail,boost:50,apply:(view,_,from,to)=>{
let after=/^\}{0,3}/.exec(view.state.sliceDoc(to,to+3))?.[0].length??0,insert=`${name}}}}`;view.dispatch({changes:{from,to:to+after,insert},selection:{anchor:from+
insert.length}})}}))}};function mount(host,{text,kind,label,description,phrases,known,findings,refused,completions,changed}){let root=host.shadowRoot??host.attachShadow(
{mode:"open"}),ends=endings(text),taking=!1,complete=completion(known,completions),language=new Compartment,lineEnds=new Compartment,view=new EditorView({root,parent:root,
state:EditorState.create({doc:text,extensions:[lineEnds.of(ends.extension),language.of(kind==="html"?[cm.html(),cm.htmlLanguage.data.of({autocomplete:complete}),
cm.autocompletion()]:cm.autocompletion({override:[complete]})),cm.lineNumbers(),cm.history(),cm.drawSelection(),cm.indentOnInput(),cm.bracketMatching(),cm.highlightActiveLine(),
cm.highlightActiveLineGutter(),cm.highlightSelectionMatches(),cm.search({top:!0}),cm.indentUnit.of("  "),EditorState.tabSize.of(4),EditorView.lineWrapping,EditorState.
phrases.of(phrases),cm.syntaxHighlighting(colours),look,marked,cm.linter(v=>[...findings(v.state.doc.toString()).map(f=>({from:f.from,to:f.to,severity:"warning",
message:f.message})),...wrongAt(v.state.doc,refused())],{delay:300,needsRefresh:update=>update.transactions.some(tr=>tr.effects.some(e=>e.is(relook)))}),EditorView.
contentAttributes.of({"aria-label":label,"aria-description":description,spellcheck:"true",autocapitalize:"off"}),cm.keymap.of([...cm.defaultKeymap,...cm.historyKeymap,
...cm.searchKeymap,...cm.completionKeymap,...cm.lintKeymap,cm.indentWithTab]),EditorView.updateListener.of(update=>update.docChanged&&!taking&&changed(()=>ends.
read(view.state)))]})});return{read:()=>ends.read(view.state),write:now=>{now!==ends.read(view.state)&&(ends=endings(now),taking=!0,view.dispatch({changes:{from:0,
to:view.state.doc.length,insert:EditorState.create({doc:now}).doc},effects:lineEnds.reconfigure(ends.extension)}),taking=!1)},replace:(from,to,insert)=>view.dispatch(
{changes:{from,to,insert},selection:{anchor:from+insert.length}}),insert:insert=>view.dispatch(view.state.replaceSelection(insert)),goTo:(line,column)=>{view.dispatch(
{selection:{anchor:positionOf(view.state.doc,line,column)},scrollIntoView:!0}),view.focus()},look:()=>{view.dispatch({effects:relook.of(null)}),cm.forceLinting(
view)},focus:()=>view.focus(),end:()=>view.destroy()}}export{endings,mount,usualBreak};
