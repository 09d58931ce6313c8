"""Learning-rate schedules: PyTorch's closed forms, and bad settings."""

import math

import pytest

from chainrule.errors import OptionError
from chainrule.nn.schedules import (
    SCHEDULES,
    ConstantSchedule,
    CosineSchedule,
    LinearWarmup,
    Schedule,
    StepSchedule,
    schedule_of,
)


def rates(schedule, epochs, lr=1.0):
    return [schedule(epoch, lr) for epoch in range(epochs)]


def test_constant():
    assert rates(ConstantSchedule(), 3, 0.5) == [0.5, 0.5, 0.5]


def test_step():
    assert rates(StepSchedule(step_size=2, gamma=0.5), 6) == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    assert StepSchedule(step_size=10)(10, 1.0) == 0.1


def test_cosine():
    schedule = CosineSchedule(T_max=2, eta_min=0.5)
    assert rates(schedule, 5) == pytest.approx([1.0, 0.75, 0.5, 0.75, 1.0])


def test_linear_warmup():
    assert rates(LinearWarmup(), 7, 3.0) == pytest.approx([1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 3.0])


def test_linear_warmup_and_then_another():
    schedule = LinearWarmup(2, 0.5, then=StepSchedule(1, 0.5))
    assert rates(schedule, 5, 8.0) == [4.0, 6.0, 8.0, 4.0, 2.0]


def test_what_is_left_open_is_fitted_to_the_training():
    assert StepSchedule().over(100) == StepSchedule(step_size=34)
    assert StepSchedule(7).over(100) == StepSchedule(7)
    assert CosineSchedule().over(100) == CosineSchedule(T_max=100)
    assert CosineSchedule(7).over(100) == CosineSchedule(7)
    assert CosineSchedule().over(0) == CosineSchedule(T_max=1)
    warmup = LinearWarmup(10, then=CosineSchedule())
    assert warmup.over(100) == LinearWarmup(10, then=CosineSchedule(90))
    assert LinearWarmup(10).over(100) == LinearWarmup(10)


@pytest.mark.parametrize("make", [StepSchedule, CosineSchedule])
def test_left_open_it_has_no_rate(make):
    with pytest.raises(OptionError, match=f"{make.__name__}.. was made without"):
        make()(1, 0.1)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: StepSchedule(0), "step_size"),
        (lambda: StepSchedule(2.5), "step_size"),
        (lambda: StepSchedule(2, gamma=0.0), "gamma"),
        (lambda: CosineSchedule(-1), "T_max"),
        (lambda: CosineSchedule(True), "T_max"),
        (lambda: CosineSchedule(5, eta_min=-0.1), "eta_min"),
        (lambda: LinearWarmup(0), "total_iters"),
        (lambda: LinearWarmup(5, start_factor=0.0), "start_factor"),
        (lambda: LinearWarmup(5, start_factor=1.5), "start_factor"),
        (lambda: LinearWarmup(5, start_factor=math.nan), "start_factor"),
        (lambda: LinearWarmup(5, then="cosine"), "then"),
    ],
)
def test_a_bad_setting_is_named(make, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        make()


def test_schedule_of():
    assert schedule_of(None, 10) == ConstantSchedule()
    assert schedule_of("cosine", 10) == CosineSchedule(T_max=10)
    assert schedule_of(StepSchedule(3), 10) == StepSchedule(3)

    def own(epoch, lr):
        return lr / (1 + epoch)

    assert schedule_of(own, 10) is own
    for name, make in SCHEDULES.items():
        assert isinstance(schedule_of(name, 10), make)


@pytest.mark.parametrize("given", ["cosin", 3, StepSchedule, ["step"]])
def test_schedule_of_something_else(given):
    with pytest.raises(OptionError, match="schedule must be one of 'constant', 'step'"):
        schedule_of(given, 10)


def test_the_base_class_has_no_rate():
    with pytest.raises(NotImplementedError):
        Schedule()(0, 0.1)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
def test_schedules_follow_pytorch():
    torch = pytest.importorskip("torch")
    lr = torch.optim.lr_scheduler

    def sequence(optimizer):
        parts = [lr.LinearLR(optimizer, 0.25, total_iters=4), lr.StepLR(optimizer, 3)]
        return lr.SequentialLR(optimizer, parts, milestones=[4])

    for ours, theirs in (
        (StepSchedule(3, 0.5), lambda o: lr.StepLR(o, 3, 0.5)),
        (StepSchedule(3), lambda o: lr.StepLR(o, 3)),
        (CosineSchedule(7, 0.01), lambda o: lr.CosineAnnealingLR(o, 7, 0.01)),
        (LinearWarmup(), lr.LinearLR),
        (LinearWarmup(4, 0.25, StepSchedule(3)), sequence),
    ):
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.3)
        scheduler = theirs(optimizer)
        for epoch in range(20):
            expected = optimizer.param_groups[0]["lr"]
            assert ours(epoch, 0.3) == pytest.approx(expected, rel=1e-12, abs=1e-15), (ours, epoch)
            scheduler.step()
