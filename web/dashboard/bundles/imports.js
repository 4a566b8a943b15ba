import{imports$ImportStatus,imports$default,imports$looks}from"./shared.js";export{imports$ImportStatus as ImportStatus,imports$default as default,imports$looks as looks};
