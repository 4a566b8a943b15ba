import{keys$KeySections,keys$default,keys$may}from"./shared.js";export{keys$KeySections as KeySections,keys$default as default,keys$may as may};
