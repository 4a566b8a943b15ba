import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{blocks$default,blocks$removeBlock,blocks$saveBlock}from"./shared.js";import{drafts$Left,drafts$Saved,drafts$forgetDrafts,drafts$placeOf,drafts$useDraft}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{liquid$alone,liquid$blockTag,liquid$canQuote,liquid$comparisons,liquid$conditionTags,liquid$contactIn,liquid$isName,liquid$isWhole,liquid$kept,liquid$loopTags,
liquid$nameOf,liquid$readAsLiquid,liquid$spelled,liquid$undeclaredIn}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_code_editor$CodeEditor,ui_code_editor$Refusal}from"./shared.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";function BlockPage({params}){let{data,error,reload,set}=api$useGet(paths$encoded`/blocks/${params.id}`),path=[[i18n$t("blocks.title"),`${router$base}/blocks`]];
return error&&!data?lib_core$html`<${ui_base$Head} title=${i18n$t("blocks.one")} path=${path} /><${ui_base$Failed} error=${error} retry=${reload} />`:data?lib_core$html`<${Writing} key=${data.
id} of=${data} set=${set} path=${path} />`:lib_core$html`<${ui_base$Head} title=${i18n$t("blocks.one")} path=${path} /><${ui_base$Bones} />`}function Writing({of,
set,path}){let[name,setName]=lib_core$useState(of.name),[text,setText]=lib_core$useState(of.html),[refused,refuse]=lib_core$useState(null),editor=lib_core$useRef(
null),changed=name.trim()!==of.name||text!==of.html,save=async()=>{try{set(await api$api.patch(paths$encoded`/blocks/${of.id}`,{...name.trim()===of.name?{}:{name:name.
trim()},html:text})),refuse(null),ui_float$toast(i18n$t("blocks.saved"))}catch(e){if(!(e instanceof api$ApiError))throw e;refuse({message:e.message,place:drafts$placeOf(
e.message)})}};return lib_core$html`<${ui_base$Head} title=${of.name} path=${path}>
		<${ui_float$Menu} label=${i18n$t("ui.acts")} items=${[{icon:"trash",name:i18n$t("blocks.delete"),danger:!0,run:async()=>await blocks$removeBlock(of)&&router$go(
"/blocks",{replace:!0})}]} />
		<${ui_base$Button} kind="primary" disabled=${!changed||!name.trim()} onClick=${save}>${i18n$t("blocks.save")}<//><//>
	<dl class="meta"><dt><label for="b-name">${i18n$t("blocks.name")}</label></dt><dd><input class="input" id="b-name" value=${name} maxlength="100" onInput=${e=>setName(
e.currentTarget.value)} /></dd>
	<dt>${i18n$t("blocks.tag")}</dt><dd><${ui_base$Copy} text=${liquid$blockTag(of.name)} /></dd></dl>
	<div class="bench bench--one"><section aria-label="HTML"><${ui_code_editor$CodeEditor} text=${of.html} label="HTML" handle=${editor} refused=${refused?.place?.
field==="html"?refused:null} onChange=${setText} />
	${refused&&lib_core$html`<${ui_code_editor$Refusal} of=${refused} editor=${editor} here=${refused.place?.field==="html"} />`}
	<div class="vars"><span class="row"><${ui_base$Icon} name="info" />${i18n$t("blocks.everywhere")}</span></div></section></div>`}export{BlockPage as default};
