-- names: max_pool2d
return {max_pool2d=1}
