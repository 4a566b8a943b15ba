import{emails$Live,emails$default}from"./app.js";export{emails$Live as Live,emails$default as default};
