import os

from oomph.frames import Spot, location
from oomph.phase import phase_of

LIBRARY = "/venv/lib/python3.11/site-packages/"
MINE = "/home/me/train.py"


def user(function="<module>", file=MINE):
    return Spot(file, 1, function)


def torch(file, function):
    return Spot(f"{LIBRARY}torch/{file}", 1, function)


CALL = torch("nn/modules/module.py", "_call_impl")
LINEAR = torch("nn/modules/linear.py", "forward")
BACKWARD = torch("autograd/graph.py", "_engine_run_backward")
STEP = torch("optim/optimizer.py", "wrapper")
ADAM = torch("optim/adam.py", "step")


def phase(*spots, grad=True, began=True):
    return phase_of(list(spots), grad, began)


def test_nothing_ran_yet():
    assert (
        phase(user(), torch("nn/modules/module.py", "to"), torch("nn/modules/module.py", "_apply"), began=False)
        == "init"
    )


def test_a_module_call_is_forward_even_before_training():
    assert phase(user(), CALL, LINEAR, began=False) == "forward"


def test_a_loss_between_forward_and_backward():
    assert phase(user(), torch("nn/functional.py", "cross_entropy")) == "forward"


def test_backward_and_its_recomputation():
    assert phase(user(), BACKWARD) == "backward"
    assert phase(user(), BACKWARD, torch("utils/checkpoint.py", "unpack_hook"), CALL, LINEAR) == "backward"


def test_optimizer():
    assert phase(user(), STEP, ADAM) == "optimizer"


def test_an_optimizer_of_the_users_own():
    assert phase(user(), STEP, user("step")) == "optimizer"


def test_inside_a_closure_the_step_is_not_the_optimizers():
    assert phase(user(), STEP, ADAM, user("closure"), CALL) == "forward"
    assert phase(user(), STEP, ADAM, user("closure"), torch("nn/functional.py", "mse_loss")) == "forward"
    assert phase(user(), STEP, ADAM, user("closure"), BACKWARD) == "backward"


def test_an_optimizer_stepped_in_a_gradient_hook():
    assert phase(user(), BACKWARD, user("hook"), STEP, ADAM) == "optimizer"


def test_eval_by_gradients_switched_off():
    assert phase(user(), CALL, LINEAR, grad=False) == "eval"


def test_eval_by_name():
    assert phase(user(), user("validate"), CALL, LINEAR) == "eval"
    assert phase(user(), Spot(f"{LIBRARY}transformers/trainer.py", 1, "evaluation_loop"), CALL, grad=None) == "eval"
    assert phase(user(), user("validate"), began=False) == "init"


def test_custom_functions_and_checkpoints_switch_gradients_off_in_training_too():
    assert phase(user(), CALL, torch("autograd/function.py", "apply"), user("forward"), grad=False) == "forward"
    assert phase(user(), CALL, torch("utils/checkpoint.py", "forward"), CALL, grad=False) == "forward"


def test_save():
    assert phase(user(), torch("serialization.py", "save"), torch("serialization.py", "_save")) == "save"
    assert phase(user(), Spot(f"{LIBRARY}transformers/modeling_utils.py", 1, "save_pretrained")) == "save"


def test_location_is_the_deepest_line_of_the_users():
    here = Spot(__file__, 7, "f")
    assert location([user(), here, CALL])["line"] == 7


def test_location_falls_back_to_the_deepest_line_of_all():
    deep = Spot(os.__file__, 3, "g")
    assert location([CALL, deep])["file"] == os.__file__
    assert location([]) is None
